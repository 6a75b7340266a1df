package redis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// standing is what the records say about a key, or a member of a key, on a server.
type standing struct {
	of    history.Attempt
	until history.Time
}

// account is what exists on a server according to its records.
type account map[[2]string]standing

// note updates the account after a record, as a reader of the history would. A record about a key that does not exist
// on the server does not change anything.
func (a account) note(e *history.Event) {
	p := [2]string{string(e.Lock), e.Member}
	was, there := a[p]
	switch {
	case e.F == history.KeySet:
		a[p] = standing{e.Of, e.Until}
	case !there || e.Of != "" && was.of != e.Of:
	case e.F == history.KeyProlonged:
		a[p] = standing{e.Of, e.Until}
	case e.F == history.KeyGone:
		delete(a, p)
	}
}

// bookkeeper is a group of nodes. It reads their records as they are written.
type bookkeeper struct {
	*groupOfThree
	accounts map[sim.ProcessID]account
	// replaced contains the keys that were on each node before it was promoted. The node must record when these keys
	// expire.
	replaced map[sim.ProcessID]account
	group    *Group
	family   []string // patterns of the commands that clients mostly send
	attempts int      // number of attempts so far; several consecutive commands belong to one
}

// desk is the host of a node with records to be checked. Deadlines in the records are times on the host's wall clock.
type desk struct {
	host
	books *bookkeeper
}

func (d desk) Due(in time.Duration) history.Time { return history.Time(d.wall) + history.Time(in) }

func (d desk) Record(e history.Event) {
	d.books.report = append(d.books.report,
		fmt.Sprintf("    %s: %s %s.%s of %s by %s %s", d.name, e.F, e.Lock, e.Member, e.Of, e.By, e.Why))
	p := [2]string{string(e.Lock), e.Member}
	_, stood := d.books.accounts[d.name][p]
	divergent := d.books.replaced[d.name][p].of == e.Of
	if e.F == history.KeyGone && d.node.Master() == "" && !stood && !divergent {
		d.books.t.Fatalf("gone is what did not stand, in\n%s", strings.Join(d.books.report, "\n"))
	}
	d.books.accounts[d.name].note(&e)
	d.books.replaced[d.name].note(&e)
}

func newBookkeeper(t *testing.T, r *rand.Rand, p store.Policy, grouped bool) *bookkeeper {
	b := &bookkeeper{groupOfThree: &groupOfThree{t: t, r: r}, accounts: map[sim.ProcessID]account{},
		replaced: map[sim.ProcessID]account{}}
	names := []sim.ProcessID{"redis-1", "redis-2", "redis-3"}
	if !grouped {
		names = names[:1]
	}
	// After a promotion, a reader of the records assumes that the new master has the same data as the old one, except
	// for changes recorded after the promotion.
	b.group = &Group{Promoted: func(old, promoted sim.ProcessID) {
		b.report = append(b.report, fmt.Sprintf("    fail over %s to %s", old, promoted))
		had := account{}
		for p, k := range b.accounts[old] {
			had[p] = k
		}
		b.replaced[promoted], b.accounts[promoted] = b.accounts[promoted], had
	}}
	for i, name := range names {
		cfg := Config{Persistence: p, FsyncTime: time.Millisecond, Group: b.group}
		switch {
		case i > 0:
			cfg.Replicates = names[0]
		case grouped:
			cfg.Replicas = names[1:]
		}
		m := &member{machine: &machine{wall: epoch, node: New(cfg), conn: 1}, name: name}
		b.nodes, b.accounts[name], b.replaced[name] = append(b.nodes, m), account{}, account{}
		b.start(m)
	}
	return b
}

func (b *bookkeeper) start(m *member) {
	m.up = true
	m.node.Start(desk{host{m, b.groupOfThree}, b})
}

// pass makes time pass for all nodes.
func (b *bookkeeper) pass(d time.Duration) {
	for _, m := range b.nodes {
		m.sleep(d) // for a node that is down this only moves its clocks
	}
}

// holds returns the keys and members that exist on a node by its own clock.
func (m *member) holds() account {
	is := account{}
	for _, h := range m.node.data.Snapshot().Holdings() {
		end := history.Time(store.EndOf(h.Deadline))
		if h.Deadline > store.LastTimed {
			end = history.Never
		}
		if end > history.Time(m.wall) {
			is[[2]string{h.Name, h.Member}] = standing{h.Owner, end}
		}
	}
	return is
}

// audit compares what exists according to the records with what each master actually has.
func (b *bookkeeper) audit() {
	b.t.Helper()
	for _, m := range b.nodes {
		if !m.up || m.node.Master() != "" {
			continue
		}
		for _, h := range m.node.data.Snapshot().Holdings() {
			was := b.replaced[m.name][[2]string{h.Name, h.Member}]
			if was.of == h.Owner && was.of != "" && m.wall/1_000_000 > h.Deadline {
				b.t.Fatalf("%s does not say that %v has expired, after\n%s", m.name, h, strings.Join(b.report, "\n"))
			}
		}
		if got, want := b.accounts[m.name], m.holds(); fmt.Sprint(got) != fmt.Sprint(want) {
			b.t.Fatalf("%s holds\n%v\nand by its records\n%v\nafter\n%s", m.name, want, got, strings.Join(b.report,
				"\n"))
		}
	}
}

// order makes the Sentinel order all nodes to follow the given node. Orders to nodes that are down are lost.
func (b *bookkeeper) order(to *member) {
	for _, m := range b.nodes {
		if m.up {
			m.inbox = append(m.inbox, posted{"sentinel", order{Master: to.name}})
		}
	}
}

// act performs a random action: it lets time pass, or makes a random node start, stop, or execute a command or an
// order.
func (b *bookkeeper) act(v vocabulary) {
	m := b.nodes[v.IntN(len(b.nodes))]
	log := func(format string, args ...any) {
		b.report = append(b.report, fmt.Sprintf("%.3f s %s ", float64(m.mono)/1e9, m.name)+fmt.Sprintf(format, args...))
	}
	switch draw := v.IntN(20); {
	case draw < 3:
		d := time.Duration(v.IntN(150)) * time.Millisecond
		log("and all sleep %v", d)
		b.pass(d)
	case !m.up:
		if draw < 8 {
			log("starts")
			m.inbox = nil
			b.start(m)
		}
	case draw == 3 && v.IntN(2) == 0:
		d := time.Duration(v.IntN(5)-2) * 150 * time.Millisecond
		log("jumps by %v", d)
		m.jump(d)
	case draw == 3:
		d := time.Duration(v.IntN(150)) * time.Millisecond
		log("is paused for %v", d)
		m.freeze(d)
	case draw == 4 && v.IntN(2) == 0:
		how := []sim.Stop{sim.ShutDown, sim.PowerLoss, sim.LoseAllState}[v.IntN(3)]
		log("stops, %v", how)
		m.stop(how)
	case draw == 5 && v.IntN(2) == 0:
		log("is to be the master")
		b.order(m)
	case draw == 6 && v.IntN(2) == 0:
		to := b.nodes[v.IntN(len(b.nodes))]
		log("is ordered to follow %s", to.name)
		m.inbox = append(m.inbox, posted{"sentinel", order{Master: to.name}})
	case draw < 14:
		log("takes a message")
		b.deliver(m)
	default:
		args := v.spell(v.one("SET K V PX 100|200|300", "SET K V NX PX 100|200|300", "SET K V NX PX 100|200|300",
			"SET K V", "DEL K", "GET K", "GETDEL K", "HSET K x|y V", "HDEL K x|y", "SADD K x|y", "SUNIONSTORE K K K",
			"RPUSH K V", "LPOP K", "PEXPIRE K 100|200", "PERSIST K", "RENAME K K", "COPY K K REPLACE", "FLUSHALL"))
		if v.IntN(2) == 0 {
			args = v.spell(v.one(b.family...))
		}
		if v.IntN(8) == 0 {
			b.attempts++
		}
		attempt := history.Attempt(fmt.Sprintf("client-1/%d", b.attempts))
		log("does %q for %s", args, attempt)
		m.send(attempt, args...)
	}
	for _, m := range b.nodes {
		m.sleep(0) // handle timers that are due
	}
	b.audit()
}

// TestRecordsShowWhatIsThere performs random actions on a single node and on a group: commands, clock jumps forward and
// back, stops of every kind, starts, promotions and full resyncs. After each step, a master's records must tell a
// reader exactly what the master has.
func TestRecordsShowWhatIsThere(t *testing.T) {
	groups := testkit.Size(100, 400, 4000)
	seen := map[string]int{}
	written := []string{"strings", "generic", "hashes", "lists", "sets", "zsets", "streams", "times", "transactions"}
	for seed := range uint64(groups) {
		r := rand.New(rand.NewPCG(seed, 12))
		b := newBookkeeper(t, r, store.Policy(seed%4), seed%3 > 0)
		b.family = families[written[seed/12%uint64(len(written))]]
		for range 100 {
			b.act(vocabulary{r})
		}
		for _, what := range []string{"fail over", " expired", "lost in crash", "lost in failover"} {
			seen[what] += strings.Count(strings.Join(b.report, "\n"), what)
		}
	}
	for what, times := range seen {
		if times < groups/4 {
			t.Errorf("%q only %d times in %d groups", what, times, groups)
		}
	}
}
