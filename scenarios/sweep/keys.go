package sweep

import (
	"time"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// reading takes a key's number out of a scenario, for one of its clients; false if there is no one number: the key is not
// in use, or stands for a range.
type reading func(s *scenarios.Scenario, c *scenarios.Client) (int64, bool)

// Key is something in a scenario that can be given another value.
type Key struct {
	Path    string // as in FORMAT.md; of an override, a link or a fault with its name or number
	Unit    Unit
	percent bool    // a rate that files write in percent
	read    reading // nil for words, links and faults
	client  string  // whose override it is
	fault   int     // number of the fault, from 1; 0: none
	field   *faultField
}

// ofServers and ofClients are the keys of FORMAT.md that change a run, in its order, but for those that hold mappings,
// lists and names. The others say what is drawn or expected, which a sweep does not look at.
var (
	ofServers = []Key{
		countKey("servers.redis", func(s *scenarios.Scenario) int { return s.Servers.Redis }),
		countKey("servers.etcd", func(s *scenarios.Scenario) int { return s.Servers.Etcd }),
		countKey("servers.zookeeper", func(s *scenarios.Scenario) int { return s.Servers.ZooKeeper }),
		word("servers.persistence"),
		word("servers.persistence.append-fsync"),
		timed("servers.fsync", func(s *scenarios.Scenario) time.Duration { return s.Servers.Fsync }),
		countKey("servers.replicas", func(s *scenarios.Scenario) int { return s.Servers.Replicas }),
		countKey("servers.min-replicas-to-write", func(s *scenarios.Scenario) int { return s.Servers.MinReplicasToWrite }),
		timed("servers.min-replicas-max-lag", func(s *scenarios.Scenario) time.Duration { return s.Servers.MinReplicasMaxLag }),
		word("servers.semi-sync"),
		timed("servers.semi-sync-timeout", func(s *scenarios.Scenario) time.Duration { return s.Servers.SemiSyncTimeout }),
		timed("servers.down-after", func(s *scenarios.Scenario) time.Duration { return s.Servers.DownAfter }),
		timed("servers.reconfigure-after", func(s *scenarios.Scenario) time.Duration { return s.Servers.ReconfigureAfter }),
		{Path: "network.delay", Unit: Durations, read: func(s *scenarios.Scenario, _ *scenarios.Client) (int64, bool) { return single(s.Network.Delay) }},
		word("network.tail"),
		countKey("clients", func(s *scenarios.Scenario) int { return len(s.Clients) }),
		word("lock.protocol"),
		word("resource.fencing"),
		word("resource.writes"),
		timed("resource.timeout", func(s *scenarios.Scenario) time.Duration { return s.Resource.Timeout }),
		timed("limit", func(s *scenarios.Scenario) time.Duration { return s.Limit }),
		timed("bound", func(s *scenarios.Scenario) time.Duration { return s.Bound }),
		{Path: "work.stagger", Unit: Durations, read: readStagger},
	}
	// The keys of lock and work may also stand under overrides.
	ofClients = []Key{
		ownTime("lock.ttl", func(c *scenarios.Client) time.Duration { return c.Lock.TTL }),
		{Path: "lock.retry.delay", Unit: Durations, read: func(_ *scenarios.Scenario, c *scenarios.Client) (int64, bool) { return single(c.Lock.Retry) }},
		positive("lock.retry.patience", Durations, func(c *scenarios.Client) int64 { return int64(c.Lock.Patience) }),
		word("lock.release"),
		ownTime("lock.timeout", func(c *scenarios.Client) time.Duration { return c.Lock.Timeout }),
		word("lock.extension"),
		word("lock.extension.mode"),
		positive("lock.extension.every", Durations, func(c *scenarios.Client) int64 { every, _ := extension(c); return every }),
		positive("lock.extension.limit", Counts, func(c *scenarios.Client) int64 { _, limit := extension(c); return limit }),
		word("lock.extension.in"),
		word("lock.reentrant"),
		word("lock.wait"),
		positive("lock.wait.replicas", Counts, func(c *scenarios.Client) int64 { replicas, _ := wait(c); return replicas }),
		positive("lock.wait.timeout", Durations, func(c *scenarios.Client) int64 { _, timeout := wait(c); return timeout }),
		word("lock.wait.obey"),
		word("lock.wait.on-release"),
		word("lock.wait.same-connection"),
		word("lock.contact"),
		word("lock.order"),
		positive("lock.quorum", Counts, func(c *scenarios.Client) int64 { return int64(c.Lock.Quorum) }),
		word("lock.elapsed-check"),
		{Path: "lock.drift-allowance", Unit: Rates, percent: true, read: func(_ *scenarios.Scenario, c *scenarios.Client) (int64, bool) {
			return c.Lock.Drift.PPM, c.Lock.Drift.Plus == 0
		}},
		word("lock.clock"),
		word("lock.release-on-failure"),
		word("lock.value"),
		word("lock.expiry"),
		word("lock.read-token"),
		word("lock.recheck"),
		word("lock.count-from"),
		word("lock.compare-revision"),
		word("lock.watch"),
		word("lock.token"),
		word("lock.names"),
		word("lock.check-session"),
		word("lock.listener"),
		word("lock.shared"),
		positive("work.cycles", Counts, func(c *scenarios.Client) int64 { return int64(c.Work.Cycles) }),
		word("work.take"),
		{Path: "work.think", Unit: Durations, read: func(_ *scenarios.Scenario, c *scenarios.Client) (int64, bool) { return single(c.Work.Think) }},
		{Path: "work.writes", Unit: Counts, read: func(_ *scenarios.Scenario, c *scenarios.Client) (int64, bool) { return int64(c.Work.Writes), true }},
		ownTime("work.compute", func(c *scenarios.Client) time.Duration { return c.Work.Compute }),
		{Path: "work.hold", Unit: Durations, read: func(_ *scenarios.Scenario, c *scenarios.Client) (int64, bool) {
			return int64(c.Work.Hold), c.Work.HoldKind == scenarios.HoldFor
		}},
		word("work.check-validity"),
		word("work.stop-when-lost"),
		word("work.nested"),
	}
	// startOfClient stands under overrides alone.
	startOfClient = Key{Path: "work.start", Unit: Durations, read: func(_ *scenarios.Scenario, c *scenarios.Client) (int64, bool) { return single(c.Work.Start) }}
)

func word(path string) Key { return Key{Path: path} }

func countKey(path string, get func(*scenarios.Scenario) int) Key {
	return Key{Path: path, Unit: Counts, read: func(s *scenarios.Scenario, _ *scenarios.Client) (int64, bool) { return int64(get(s)), true }}
}

func timed(path string, get func(*scenarios.Scenario) time.Duration) Key {
	return Key{Path: path, Unit: Durations, read: func(s *scenarios.Scenario, _ *scenarios.Client) (int64, bool) { return int64(get(s)), true }}
}

func ownTime(path string, get func(*scenarios.Client) time.Duration) Key {
	return Key{Path: path, Unit: Durations, read: func(_ *scenarios.Scenario, c *scenarios.Client) (int64, bool) { return int64(get(c)), true }}
}

// positive reads what is zero only where it is not in use.
func positive(path string, unit Unit, get func(*scenarios.Client) int64) Key {
	return Key{Path: path, Unit: unit, read: func(_ *scenarios.Scenario, c *scenarios.Client) (int64, bool) {
		n := get(c)
		return n, n > 0
	}}
}

// extension is how often a client extends its lock, and how many times; zeros if it does not.
func extension(c *scenarios.Client) (every, limit int64) {
	if x := c.Lock.Extension; x != nil {
		return int64(x.Every), int64(x.Limit)
	}
	return 0, 0
}

// wait is for how many replicas a client waits, and how long; zeros if it does not.
func wait(c *scenarios.Client) (replicas, timeout int64) {
	if w := c.Lock.Wait; w != nil {
		return int64(w.Replicas), int64(w.Timeout)
	}
	return 0, 0
}

// single is the value of a delay that is no range.
func single(d sim.Delay) (int64, bool) { return int64(d.Lo), d.Lo == d.Hi }

// readStagger gives the time between two clients, which a scenario keeps only as when each begins.
func readStagger(s *scenarios.Scenario, _ *scenarios.Client) (int64, bool) {
	if len(s.Clients) < 2 {
		return 0, false
	}
	return int64(s.Clients[1].Work.Start.Lo - s.Clients[0].Work.Start.Lo), true
}
