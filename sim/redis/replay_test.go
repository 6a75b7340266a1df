package redis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// groupOfThree is a group of three nodes. The test moves their clocks and delivers the messages between them.
type groupOfThree struct {
	t      *testing.T
	r      *rand.Rand
	nodes  []*member
	report []string // the steps so far, for the message if the test fails
}

// member is a node, together with the effects that it has received, in order. Replaying these effects gives the same
// data, even on a node that never hides a key.
type member struct {
	*machine
	name    sim.ProcessID
	inbox   []posted
	arrived []store.Effect
}

type posted struct {
	from sim.ProcessID
	body any
}

func (m *member) Name() sim.ProcessID { return m.name }

// host is a member's host. It passes messages to the other members.
type host struct {
	*member
	group *groupOfThree
}

func (h host) Send(to sim.ProcessID, _ string, _ sim.Key, body any) {
	for _, m := range h.group.nodes {
		if m.name == to {
			m.inbox = append(m.inbox, posted{h.name, body})
		}
	}
}

func newGroupOfThree(t *testing.T, r *rand.Rand, p store.Policy) *groupOfThree {
	s := &groupOfThree{t: t, r: r}
	names := []sim.ProcessID{"redis-1", "redis-2", "redis-3"}
	for i, name := range names {
		cfg := Config{Version: Redis8, Persistence: p, Replicas: names[1:]}
		if i > 0 {
			cfg = Config{Version: Redis8, Persistence: p, Replicates: names[0]}
		}
		m := &member{machine: &machine{wall: epoch, node: New(cfg), up: true, conn: 1}, name: name}
		s.nodes = append(s.nodes, m)
		m.node.Start(host{m, s})
	}
	return s
}

// deliver delivers the next message to a node, and records the effects in it.
func (s *groupOfThree) deliver(m *member) {
	if len(m.inbox) == 0 {
		return
	}
	message := m.inbox[0]
	m.inbox = m.inbox[1:]
	before := m.node.repl
	m.node.Receive(message.from, message.body)
	switch body := message.body.(type) {
	case effects:
		if message.from == before.master && before.linked && body.id == before.id {
			m.arrived = append(m.arrived, body.list...)
		}
	case fullCopy:
		if message.from == before.master && (!before.linked || body.id != before.id) {
			m.arrived = slices.Clone(body.list)
		}
	case order:
		if before.master == "" && m.node.Master() != "" {
			m.arrived = m.node.image() // a deposed master keeps its data until its new master's arrives
		}
	}
}

// dataOf returns the data that results from applying the effects.
func dataOf(list []store.Effect) []store.Key {
	plain := New(Config{Version: Redis8})
	plain.data.Quietly(func() { plain.replay(list) })
	return plain.Keys()
}

// restart shuts a node down cleanly and starts it again.
func (s *groupOfThree) restart(m *member) {
	was := m.node.Keys()
	m.stop(sim.ShutDown)
	m.freeze(time.Duration(s.r.IntN(3)) * 100 * time.Millisecond)
	m.wall += int64(s.r.IntN(3)-1) * int64(time.Second) // the clock was set while the node was down
	m.up = true
	m.node.Start(host{m, s})
	s.checkData("after a restart of "+string(m.name), m, was)
}

// promote makes a replica the master, and the others its replicas.
func (s *groupOfThree) promote(m *member) {
	if m.node.Master() == "" {
		return
	}
	was := dataOf(m.arrived)
	for _, other := range s.nodes {
		other.inbox = append(other.inbox, posted{"sentinel", order{Master: m.name}})
	}
	for m.node.Master() != "" { // deliver earlier messages first
		s.deliver(m)
		if m.node.Master() != "" {
			was = dataOf(m.arrived)
		}
	}
	s.checkData("after the promotion of "+string(m.name), m, was)
}

// list formats keys as text, without the information that only the records need.
func list(keys []store.Key) string {
	var b strings.Builder
	for _, k := range keys {
		value, all := k.Value, slices.Clone(k.Members)
		if k.Type == "hash" {
			value = "" // the value contains only the fields that are not hidden
			for _, f := range k.Past {
				all = append(all, f.Member)
			}
			slices.SortFunc(all, func(a, b store.Member) int { return strings.Compare(a.Name, b.Name) })
		}
		fmt.Fprintln(&b, k.Name, k.Type, value, k.Owner, k.Deadline, all)
	}
	return b.String()
}

// checkData fails the test unless a node has the given data.
func (s *groupOfThree) checkData(when string, m *member, was []store.Key) {
	s.t.Helper()
	is := m.node.Keys()
	if list(is) != list(was) {
		s.t.Fatalf("%s it has\n%v\nand not\n%v\nafter\n%s", when, is, was, strings.Join(s.report, "\n"))
	}
}

// step performs a random action on a random node, such as a clock jump, a restart, a promotion, or a command.
func (s *groupOfThree) step(v vocabulary) {
	m := s.nodes[v.IntN(len(s.nodes))]
	log := func(format string, args ...any) {
		s.report = append(s.report, string(m.name)+" "+fmt.Sprintf(format, args...))
	}
	switch v.IntN(20) {
	case 0:
		d := time.Duration(v.IntN(5)-2) * 150 * time.Millisecond
		log("jumps by %v", d)
		m.jump(d)
	case 1, 2:
		d := time.Duration(v.IntN(100)) * time.Millisecond
		log("sleeps %v", d)
		m.sleep(d)
	case 3:
		if v.IntN(4) == 0 {
			log("restarts")
			s.restart(m)
		}
	case 4:
		if v.IntN(8) == 0 {
			log("is promoted")
			s.promote(m)
		}
	case 5, 6, 7, 8, 9, 10, 11:
		log("takes a message")
		s.deliver(m)
	default:
		args := v.spell(v.one("SET K V PX 100|200|300", "SET K V NX PX 100|200", "SET K V", "DEL K", "GET K", "INCR K",
			"HSET K M V", "HDEL K M", "ZADD K 1|2 M",
			"SADD K M", "RPUSH K V", "LPOP K", "PEXPIRE K 100|200", "PERSIST K", "RENAME K K", "COPY K K REPLACE",
			"DBSIZE", "KEYS *", "FLUSHALL", "GETDEL K", "APPEND K V", "HPEXPIRE K 50|100|200 FIELDS 1 M",
			"HPEXPIRE K 50|100|200 FIELDS 2 M M", "HSETEX K PX 100|200 FIELDS 1 M V", "HSETEX K KEEPTTL FIELDS 1 M V",
			"HPERSIST K FIELDS 1 M", "HGETEX K PX 0|100 FIELDS 1 M", "HGETDEL K FIELDS 1 M", "HGET K M", "HSETNX K M V",
			"HINCRBY K M 1"))
		log("does %q", args)
		m.send("client-1/1", args...)
	}
}

// TestDataOutlivesRestartsAndPromotions runs a group with random commands, clock jumps forward and back, restarts and
// promotions. After a clean restart, a node must have the same data as before, including hidden keys. After a
// promotion, it must have the data that had reached it.
func TestDataOutlivesRestartsAndPromotions(t *testing.T) {
	groups := 400
	if !testkit.Full() {
		groups = 20
	}
	restarts, promotions := 0, 0
	for seed := range uint64(groups) {
		r := rand.New(rand.NewPCG(seed, 8))
		s := newGroupOfThree(t, r, []store.Policy{store.Everysec, store.Always, store.No}[seed%3])
		for range 400 {
			s.step(vocabulary{r})
		}
		for _, line := range s.report {
			restarts += strings.Count(line, "restarts")
			promotions += strings.Count(line, "is promoted")
		}
	}
	if restarts < groups || promotions < groups {
		t.Errorf("%d restarts and %d promotions of %d groups", restarts, promotions, groups)
	}
}

// TestLogGivesTheDataAgain executes random commands while some expired keys have not been deleted yet. It then replays
// the node's log on an empty node, which must end up with the same data.
func TestLogGivesTheDataAgain(t *testing.T) {
	rounds := 1000
	if testkit.Full() {
		rounds = 100_000
	}
	var changing []string
	for _, family := range []string{"strings", "generic", "hashes", "lists", "sets", "zsets", "streams", "times"} {
		changing = append(changing, families[family]...)
	}
	changing = slices.Concat(changing, timedFields, exFields)
	v := vocabulary{rand.New(rand.NewPCG(1, 12))}
	cfg := Config{Version: Redis8}
	node, again := New(cfg), New(cfg)
	for range rounds {
		node.Reset(Config{Version: Redis8, Persistence: store.Always})
		m := &machine{wall: epoch, node: node, up: true, quiet: true}
		node.Start(m)
		var done []string
		for range 12 {
			pattern := v.one(changing...)
			if v.IntN(3) == 0 {
				pattern = "SET K V PX P"
			}
			args := v.spell(pattern)
			m.send("client-1/1", args...)
			done = append(done, strings.Join(args, " "))
			if v.IntN(3) == 0 {
				m.jump(v.move())
				done = append(done, "the clock moves")
			}
		}
		again.Reset(cfg)
		again.data.Quietly(func() { again.replay(node.aof.All()) })
		if got, want := list(again.Keys()), list(node.Keys()); got != want {
			t.Fatalf("the log gives\n%s\nand the node has\n%s\nafter\n%s\nlog\n%s", got, want, strings.Join(done, "\n"),
				strings.Join(node.Log(), "\n"))
		}
	}
}
