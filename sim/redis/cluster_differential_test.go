package redis

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// clusterNodes are the nodes that are compared: three masters, the first of which has a replica.
var clusterNodes = []sim.ProcessID{"redis-1", "redis-2", "redis-3", "redis-1-replica-1"}

// clusterStep is a command for a node, on one of two connections.
type clusterStep struct {
	node, conn int
	command    string
}

func (s clusterStep) String() string {
	return fmt.Sprintf("%s/%d: %s", clusterNodes[s.node], s.conn, s.command)
}

// realCluster is a Redis Cluster made up of redis-server processes on this machine.
type realCluster struct {
	t       *testing.T
	ports   []string
	conns   [][2]*realRedis
	control []*realRedis // a second connection to each node
	ids     []string
	address *strings.Replacer // replaces addresses and identities by those of the simulated nodes
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// startCluster starts the nodes, gives the masters their slots, and waits until all nodes serve requests.
func startCluster(t *testing.T) *realCluster {
	c := &realCluster{t: t}
	var buses []string
	for range clusterNodes {
		port, bus := freePort(t), freePort(t)
		c.ports, buses = append(c.ports, port), append(buses, bus)
		start(t, "Ready to accept", nil, "--port", port, "--cluster-enabled", "yes", "--cluster-port", bus, "--bind",
			"127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(), "--cluster-node-timeout", "30000",
			"--cluster-config-file", "nodes.conf")
		var pair [2]*realRedis
		for i := range pair {
			pair[i] = connect(t, "tcp", "127.0.0.1:"+port)
		}
		c.conns, c.ids = append(c.conns, pair), append(c.ids, readable(pair[0].do("CLUSTER", "MYID")))
	}
	var names []string
	for i, name := range clusterNodes {
		first := c.conns[i][0]
		if i < 3 {
			share := shareOf(i, 3)[0]
			first.do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(share.first), strconv.Itoa(share.last))
			first.do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		}
		first.do("CLUSTER", "MEET", "127.0.0.1", c.ports[0], buses[0])
		short := fmt.Sprintf("$%d\r\n%s\r\n", len(name), name)
		names = append(names, "127.0.0.1:"+c.ports[i]+"@"+buses[i], string(name)+":6379@16379",
			"127.0.0.1:"+c.ports[i], string(name)+":6379", c.ids[i], (&peer{name: name}).id(),
			"$9\r\n127.0.0.1\r\n:"+c.ports[i]+"\r\n", short+":6379\r\n")
	}
	c.address = strings.NewReplacer(names...)
	replica := c.conns[3][0]
	for _, port := range c.ports {
		c.control = append(c.control, connect(t, "tcp", "127.0.0.1:"+port))
	}
	c.await(func() bool { return replica.do("CLUSTER", "REPLICATE", c.ids[0]) == "+OK\r\n" }, notReady)
	for i := range clusterNodes {
		c.await(func() bool {
			info := c.conns[i][0].do("CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "known_nodes:4") &&
				strings.Count(c.conns[i][0].do("CLUSTER", "NODES"), " connected") == 4 &&
				// CLUSTER SLOTS lists a replica only once its offset is known.
				strings.Contains(c.conns[i][0].do("CLUSTER", "SLOTS"), c.ids[3])
		}, notReady)
	}
	c.await(func() bool { return strings.Contains(replica.do("INFO", "replication"), "master_link_status:up") },
		notReady)
	return c
}

// await waits until a condition holds. It checks the condition frequently at first, and then every 20 ms, because each
// check costs CPU time here and in the nodes.
func (c *realCluster) await(done func() bool, problem func() string) {
	c.t.Helper()
	pause, end := 50*time.Microsecond, time.Now().Add(20*time.Second)
	for ; !done(); time.Sleep(pause) {
		if time.Now().After(end) {
			c.t.Fatal(problem())
		}
		pause = min(2*pause, 20*time.Millisecond)
	}
}

func notReady() string { return "the real cluster does not become ready" }

// settle waits until the replica has all writes.
func (c *realCluster) settle() {
	offset := func(i int) string {
		_, rest, _ := strings.Cut(c.control[i].do("INFO", "replication"), "master_repl_offset:")
		text, _, _ := strings.Cut(rest, "\r\n")
		return text
	}
	c.await(func() bool { return offset(0) == offset(3) }, notReady)
}

// play executes the steps on an empty cluster and returns the replies.
func (c *realCluster) play(steps []clusterStep) (replies []string) {
	for i, pair := range c.conns {
		for _, conn := range pair {
			conn.do("RESET")
			conn.do("READWRITE")
		}
		for slot := range slotCount {
			if i < 3 && usedSlots[slot] {
				pair[0].do("CLUSTER", "SETSLOT", strconv.Itoa(slot), "STABLE")
			}
		}
		if i < 3 {
			pair[0].do("FLUSHALL")
		}
		pair[0].do("SCRIPT", "FLUSH")
	}
	c.settle()
	for _, s := range steps {
		if s.command == "settle" {
			c.settle()
			replies = append(replies, "")
			continue
		}
		reply := c.conns[s.node][s.conn].do(clusterWords(c.identified(s.command))...)
		replies = append(replies, c.address.Replace(reply))
	}
	return replies
}

// identified replaces node names in a command with the nodes' IDs.
func (c *realCluster) identified(command string) string {
	for i := len(clusterNodes) - 1; i >= 0; i-- {
		command = strings.ReplaceAll(command, "@"+string(clusterNodes[i]), c.ids[i])
	}
	return command
}

// clusterWords splits a command at its spaces, except for those in a script, which is enclosed in three single quotes.
func clusterWords(command string) (list []string) {
	for i, part := range strings.Split(command, "'''") {
		if i%2 == 1 {
			list = append(list, part)
		} else {
			list = append(list, strings.Fields(part)...)
		}
	}
	return list
}

// playSimulated executes the steps on simulated nodes and returns the replies.
func playSimulated(t *testing.T, steps []clusterStep) (replies []string) {
	w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: time.Millisecond, Hi: time.Millisecond}})
	members := &ClusterConfig{Groups: [][]sim.ProcessID{{clusterNodes[0], clusterNodes[3]}, {clusterNodes[1]},
		{clusterNodes[2]}}, NodeTimeout: 30 * time.Second}
	for i, name := range clusterNodes {
		cfg := Config{Cluster: members}
		switch i {
		case 0:
			cfg.Replicas = clusterNodes[3:]
		case 3:
			cfg.Replicates = clusterNodes[0]
		}
		w.AddServer(name, New(cfg))
	}
	done := false
	w.AddClient("client-1", 0, func(env sim.Env) {
		for _, s := range steps {
			if s.command == "settle" {
				env.Sleep(time.Second)
				replies = append(replies, "")
				continue
			}
			command := s.command
			for _, name := range slices.Backward(clusterNodes) {
				command = strings.ReplaceAll(command, "@"+string(name), (&peer{name: name}).id())
			}
			r := env.Call(time.Second, nil, sim.Request{Conn: sim.Conn{Server: clusterNodes[s.node], N: s.conn},
				Args: clusterWords(command), Attempt: "client-1/1", Phase: "step"})
			replies = append(replies, string(r[0].Raw()))
		}
		done = true
	})
	w.Run(sim.Time(time.Hour), func() bool { return done })
	if w.Err() != nil {
		t.Fatal(w.Err())
	}
	return replies
}

// differ executes the steps on both clusters. If the replies differ, the test fails and reports a shortened list of
// steps for which the replies still differ.
func (c *realCluster) differ(steps []clusterStep) {
	c.t.Helper()
	different := func(steps []clusterStep) string {
		got, want := playSimulated(c.t, steps), c.play(steps)
		for i := range steps {
			if !sameReply(clusterWords(steps[i].command), got[i], want[i]) {
				return fmt.Sprintf("%v\nthe node says %q\nand Redis     %q", steps[i], got[i], want[i])
			}
		}
		return ""
	}
	first := different(steps)
	if first == "" {
		return
	}
	for i := 0; i < len(steps); {
		fewer := append(append([]clusterStep(nil), steps[:i]...), steps[i+1:]...)
		if different(fewer) != "" {
			steps = fewer
		} else {
			i++
		}
	}
	c.t.Fatalf("%s\nat first %s\nafter %v", different(steps), first, steps)
}

// clusterKeys lists keys in a few slots, at least one on each master.
var clusterKeys = []string{"lock", "{lock}a", "{lock}b", "x", "x{y}", "{y}", "{}z", "{", "foo{lock}{x}", "c"}

var usedSlots = func() map[int]bool {
	used := map[int]bool{}
	for _, key := range clusterKeys {
		used[KeySlot(key)] = true
	}
	return used
}()

// clusterTemplates lists commands with placeholders: K for a key, S for a slot and N for a node.
var clusterTemplates = []string{
	"SET K 1", "SET K 2 NX PX 100000", "GET K", "DEL K K", "MGET K K", "MSET K 1 K 2", "EXISTS K K K",
	"EVAL '''return redis.call('get',KEYS[1])''' 1 K", "EVAL '''return redis.call('get','lock')''' 1 K",
	"EVAL '''return redis.call('set','x',1)''' 0", "EVAL '''return 1''' 2 K K",
	"EVAL '''return redis.pcall('del',KEYS[1],KEYS[2])''' 2 K K",
	"EVAL_RO '''return redis.call('exists',KEYS[1])''' 1 K", "EVAL '''return 1''' x K", "MULTI", "MULTI", "EXEC",
	"EXEC", "DISCARD", "WATCH K K", "UNWATCH", "READONLY", "READWRITE", "ASKING", "ASKING",
	"CLUSTER SETSLOT S MIGRATING @N", "CLUSTER SETSLOT S MIGRATING @N", "CLUSTER SETSLOT S IMPORTING @N",
	"CLUSTER SETSLOT S IMPORTING @N", "CLUSTER SETSLOT S STABLE", "CLUSTER SETSLOT S", "CLUSTER SETSLOT S NODE",
	"CLUSTER SETSLOT 16384 STABLE", "CLUSTER SETSLOT x STABLE", "CLUSTER SETSLOT S MIGRATING x",
	"CLUSTER SETSLOT S NODE x", "CLUSTER KEYSLOT K", "CLUSTER COUNTKEYSINSLOT S", "CLUSTER GETKEYSINSLOT S 9",
	"CLUSTER GETKEYSINSLOT S -1", "CLUSTER COUNTKEYSINSLOT 16384", "CLUSTER COUNTKEYSINSLOT x", "CLUSTER MYID",
	"CLUSTER REPLICAS x", "CLUSTER REPLICAS @redis-1-replica-1", "CLUSTER SLAVES @redis-2", "CLUSTER NOTHING",
	"CLUSTER", "PING", "RENAME K K", "COPY K K", "SETNX K 1", "INCR K", "LPUSH K 1", "LPOP K", "BLPOP K K 0.01",
	"HSET K f v", "DBSIZE", "REPLICAOF NO ONE", "REPLICAOF 127.0.0.1 1", "SELECT 0", "SPUBLISH K hello",
	"PUBLISH K hello", "PEXPIRE K 100000", "PTTL K x", "KEYS *", "CLUSTER FAILOVER x", "CLUSTER SLOTS",
	"PUBSUB SHARDNUMSUB K"}

// fill returns a random template with its placeholders replaced with random keys, slots and nodes.
func fill(random *rand.Rand) string {
	list := strings.Split(clusterTemplates[random.IntN(len(clusterTemplates))], " ")
	for i, word := range list {
		switch word {
		case "K":
			list[i] = clusterKeys[random.IntN(len(clusterKeys))]
		case "S":
			list[i] = strconv.Itoa(KeySlot(clusterKeys[random.IntN(len(clusterKeys))]))
		case "@N":
			list[i] = "@" + string(clusterNodes[random.IntN(len(clusterNodes))])
		}
	}
	return strings.Join(list, " ")
}

// clusterLooks lists commands that show what a node knows about its cluster. The times and message counts in their
// replies may differ.
var clusterLooks = []string{
	"CLUSTER INFO", "CLUSTER NODES", "CLUSTER SHARDS", "CLUSTER SLOTS", "CLUSTER REPLICAS @redis-1",
	"CLUSTER SLAVES @redis-1-replica-1"}

// comparableParts returns the parts of a reply that must be the same on both clusters. look is the command that was
// sent, one of clusterLooks.
func comparableParts(look, reply string, address *strings.Replacer) string {
	v, _ := resp.Parse([]byte(reply))
	var lines []string
	switch look {
	case "CLUSTER INFO":
		for line := range strings.Lines(v.Text) {
			name, _, _ := strings.Cut(line, ":")
			if slices.Contains([]string{"cluster_state", "cluster_size", "cluster_known_nodes"}, name) ||
				strings.HasPrefix(name, "cluster_slots") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	case "CLUSTER NODES", "CLUSTER REPLICAS @redis-1", "CLUSTER SLAVES @redis-1-replica-1":
		for line := range strings.Lines(strings.Join(append(v.Texts(), v.Text), "\n")) {
			if fields := strings.Fields(line); len(fields) > 7 {
				lines = append(lines, strings.Join(append(fields[:4:4], fields[7:]...), " "))
			}
		}
	// For each node in a shard, the test compares the ID, the role, the health and the number of fields. The nodes are
	// sorted, because real nodes list them in hash table order.
	case "CLUSTER SHARDS":
		for _, shard := range v.List {
			line := fmt.Sprint(shard.List[1].Texts())
			for _, n := range shard.List[3].List {
				of := map[string]string{}
				for i := 0; i+1 < len(n.List); i += 2 {
					of[n.List[i].Text] = n.List[i+1].Text
				}
				line += " " + of["id"] + " " + of["role"] + " " + of["health"] + " " + strconv.Itoa(len(n.List))
			}
			lines = append(lines, line)
		}
	default:
		return address.Replace(reply)
	}
	for i := range lines {
		lines[i] = address.Replace(lines[i])
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// sameLooks executes the given steps, and waits until the real nodes report the same cluster state as the simulated
// ones.
func (c *realCluster) sameLooks(after ...clusterStep) {
	c.t.Helper()
	c.play(after)
	for _, look := range clusterLooks {
		for node := range clusterNodes {
			ask := clusterStep{node: node, command: look}
			replies := playSimulated(c.t, append(slices.Clone(after), clusterStep{command: "settle"}, ask))
			want := comparableParts(look, replies[len(replies)-1], strings.NewReplacer())
			var got string
			c.await(func() bool {
				got = comparableParts(look, c.control[node].do(clusterWords(c.identified(look))...), c.address)
				return got == want
			}, func() string {
				return fmt.Sprintf("%s on %s\nthe node says\n%s\nand Redis\n%s", look, clusterNodes[node], want, got)
			})
		}
	}
}

// TestMembersKnowWhatRealMembersKnow compares how simulated and real nodes describe their cluster: when it is new,
// after a slot has been moved, and after a replica has taken its master's place.
func TestMembersKnowWhatRealMembersKnow(t *testing.T) {
	testkit.ThoroughOnly(t)
	c := startCluster(t)
	c.sameLooks()
	moved := []clusterStep{{command: "CLUSTER SETSLOT 100 MIGRATING @redis-2", node: 0},
		{command: "CLUSTER SETSLOT 100 IMPORTING @redis-1", node: 1},
		{command: "CLUSTER SETSLOT 100 NODE @redis-2", node: 1},
		{command: "CLUSTER SETSLOT 100 NODE @redis-2", node: 0}}
	c.sameLooks(moved...)
	for _, how := range []string{"FORCE", "TAKEOVER"} {
		c = startCluster(t)
		c.sameLooks(clusterStep{node: 3, command: "CLUSTER FAILOVER " + how})
	}
}

// TestMembersAnswerAsARealCluster compares the replies from simulated cluster members with those from real ones. The
// commands are about keys of all masters, and are sent to all nodes. Some are in scripts and transactions, and some are
// sent while slots are being moved. A full test run uses three seeds, with 3,000 sequences of commands each.
func TestMembersAnswerAsARealCluster(t *testing.T) {
	testkit.ThoroughOnly(t)
	c := startCluster(t)
	for seed := range uint64(testkit.Size(1, 1, 3)) {
		random := rand.New(rand.NewPCG(38+seed, 9))
		for range testkit.Size(40, 150, 3000) {
			c.differ(randomPlay(random))
		}
	}
}

// TestAQueueOnAMovingSlotIsRedirectedAsInARealCluster compares how simulated and real nodes reply to transactions whose
// keys are in one slot while the slot is being moved. Some of their commands are about shard channels, and some are
// rejected.
func TestAQueueOnAMovingSlotIsRedirectedAsInARealCluster(t *testing.T) {
	testkit.ThoroughOnly(t)
	c := startCluster(t)
	random := rand.New(rand.NewPCG(38, 10))
	queued := []string{"SPUBLISH {}z hello", "SPUBLISH {}z hello", "SPUBLISH {2}z hello", "PUBLISH {}z hello",
		"PUBSUB SHARDNUMSUB {}z", "GET {}z", "SET {}z 1", "EXISTS {}z", "PING", "WATCH {}z", "NOTHING"}
	slot := strconv.Itoa(KeySlot("{}z"))
	for range testkit.Size(25, 100, 2000) {
		node := random.IntN(len(clusterNodes))
		var commands []string
		for _, maybe := range [][]string{{"READONLY", ""}, {"SET {}z 1", ""}, {"", "WATCH {}z", "WATCH {}z"},
			{"", "SET {}z 2"}, {"", "CLUSTER SETSLOT " + slot + " MIGRATING @redis-2",
				"CLUSTER SETSLOT " + slot + " IMPORTING @redis-1"}, {"", "ASKING"}} {
			commands = append(commands, maybe[random.IntN(len(maybe))])
		}
		commands = append(commands, "MULTI")
		for range 1 + random.IntN(3) {
			commands = append(commands, queued[random.IntN(len(queued))])
		}
		steps := []clusterStep{{command: "settle"}}
		for _, command := range append(commands, "EXEC") {
			if command != "" {
				steps = append(steps, clusterStep{node: node, command: command})
			}
		}
		c.differ(steps)
	}
}

// TestASlotWithKeysKeepsMigratingWhenItsOwnerIsNamed compares how simulated and real nodes treat a slot that is being
// moved when an operator names its owner as the owner again.
func TestASlotWithKeysKeepsMigratingWhenItsOwnerIsNamed(t *testing.T) {
	testkit.ThoroughOnly(t)
	c := startCluster(t)
	slot := KeySlot("lock")
	owner := SlotOwner(slot, 3)
	to := func(words string, node int) string {
		return fmt.Sprintf("CLUSTER SETSLOT %d %s @%s", slot, words, clusterNodes[node])
	}
	for _, first := range []string{"SET lock 1", "DEL lock"} {
		var steps []clusterStep
		for _, command := range []string{first, to("MIGRATING", (owner+1)%3), to("NODE", owner), "GET {lock}a",
			"GET lock"} {
			steps = append(steps, clusterStep{node: owner, command: command})
		}
		c.differ(steps)
	}
}

// TestOnlyTheFirstSlotThatANodeTakesNeedsANewEpoch checks, on simulated and on real nodes, that a node chooses a new
// epoch when it takes a slot, but not when it then takes another one.
func TestOnlyTheFirstSlotThatANodeTakesNeedsANewEpoch(t *testing.T) {
	testkit.ThoroughOnly(t)
	steps := []clusterStep{{command: "CLUSTER INFO", node: 1}}
	for _, slot := range []string{"100", "101"} {
		steps = append(steps, clusterStep{command: "CLUSTER SETSLOT " + slot + " IMPORTING @redis-1", node: 1},
			clusterStep{command: "CLUSTER SETSLOT " + slot + " NODE @redis-2", node: 1},
			clusterStep{command: "CLUSTER INFO", node: 1})
	}
	for who, replies := range map[string][]string{"simulated": playSimulated(t, steps),
		"real": startCluster(t).play(steps)} {
		var epochs []string
		for _, at := range []int{0, 3, 6} {
			_, rest, _ := strings.Cut(replies[at], "cluster_my_epoch:")
			epoch, _, _ := strings.Cut(rest, "\r\n")
			epochs = append(epochs, epoch)
		}
		if epochs[0] == epochs[1] || epochs[1] != epochs[2] {
			t.Errorf("%s: %q", who, epochs)
		}
	}
}

// randomPlay returns random commands for all nodes.
func randomPlay(random *rand.Rand) (steps []clusterStep) {
	for range 40 {
		s := clusterStep{random.IntN(len(clusterNodes)), random.IntN(2), fill(random)}
		if clusterNodes[s.node] == "redis-1-replica-1" {
			steps = append(steps, clusterStep{command: "settle"})
		}
		if steps = append(steps, s); s.command == "ASKING" || random.IntN(3) == 0 {
			s.command = fill(random)
			steps = append(steps, s)
		}
	}
	return steps
}
