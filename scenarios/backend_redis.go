package scenarios

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/front"
)

func init() {
	registerBackend(&backend{kind: locks.OnRedis, place: 1, most: maxServers, log: false,
		front: front.Redis{}, called: "Redis", service: history.Redis,
		upkeep: []string{"auth", "client", "cluster", "command", "config", "echo", "hello", "info", "ping", "quit",
			"readonly", "readwrite", "reset", "role", "select"},
		meaning: "how many independent Redis masters: redis-1, redis-2 …; all protocols on Redis but redlock need " +
			"exactly 1. A file gives one of `redis`, `etcd`, `zookeeper` and `kubernetes`",
		cluster: func(s *Servers) cluster { return newRedisCluster(s) }})
}

// redisCluster holds Redis masters: each alone, or with replicas and a Sentinel that watches all of them.
type redisCluster struct {
	*Servers
	names  []sim.ProcessID
	groups [][]sim.ProcessID // each master with its replicas; nil without replicas
	nodes  []*redis.Node
}

func newRedisCluster(s *Servers) *redisCluster {
	c := &redisCluster{Servers: s, names: s.names(), groups: s.groups()}
	for range c.names {
		c.nodes = append(c.nodes, redis.New(redis.Config{}))
	}
	return c
}

func (c *redisCluster) add(w *sim.World, p nemesis.Plan, wrap tap) {
	if len(c.groups) == 0 {
		for _, node := range c.nodes {
			node.Reset(c.config())
		}
	}
	for _, members := range c.groups {
		c.resetGroup(w, p, members)
	}
	for i, id := range c.names {
		w.AddServer(id, wrap(id, c.nodes[i]))
	}
	if len(c.groups) > 0 {
		w.AddServer(Observer, wrap(Observer, redis.NewSentinel(redis.SentinelConfig{Groups: c.groups,
			Version:   c.Version,
			DownAfter: c.DownAfter, ReconfigureAfter: c.ReconfigureAfter})))
	}
}

func (c *redisCluster) config() redis.Config {
	return redis.Config{Version: redis.VersionOf(c.Version), NotifyKeyspaceEvents: c.NotifyKeyspaceEvents,
		Persistence: c.Persistence, FsyncTime: c.Fsync}
}

// resetGroup prepares a master and its replicas for a run.
func (c *redisCluster) resetGroup(w *sim.World, p nemesis.Plan, members []sim.ProcessID) {
	group := &redis.Group{Promoted: func(old, promoted sim.ProcessID) { RecordFailOver(w, p.Faults, old, promoted) }}
	config := c.config()
	config.Group = group
	config.MinReplicasToWrite, config.MinReplicasMaxLag = c.MinReplicasToWrite, c.MinReplicasMaxLag
	config.SemiSync, config.SemiSyncTimeout = c.SemiSync, c.SemiSyncTimeout
	for i, id := range members {
		config.Replicas, config.Replicates = members[1:], ""
		if i > 0 {
			config.Replicas, config.Replicates = nil, members[0]
		}
		c.nodes[slices.Index(c.names, id)].Reset(config)
	}
}

// RecordFailOver records that a replica has become master, whoever decided that, because a checker must know which
// server was deposed. If a fault of the plan ordered it, the event has the fault's line. Otherwise it says that the
// Sentinel decided it.
func RecordFailOver(w *sim.World, plan []nemesis.Fault, old, promoted sim.ProcessID) {
	f := nemesis.Fault{Kind: nemesis.FailOver, Target: old, Peer: promoted}
	e := history.Event{Type: history.Invoke, F: history.FailOver, Value: f.Recorded(), Fault: f.Struck(),
		Why: history.BySentinel}
	if o := ordered(plan, &f, w.Now()); o != nil {
		e.Value, e.Why = o.Recorded(), ""
	}
	w.Record(history.Nemesis, e)
	e.Type = history.OK
	w.Record(history.Nemesis, e)
}

// ordered returns the fault of the plan that ordered a failover, or nil if there is none. The fault may name another
// server as the master: what counts is which replica takes over, from whoever is master then. A fault whose time has
// not come has ordered nothing.
func ordered(plan []nemesis.Fault, f *nemesis.Fault, now sim.Time) (by *nemesis.Fault) {
	for i := range plan {
		o := &plan[i]
		if o.Kind != f.Kind || o.Peer != f.Peer || sim.Time(o.Trigger.Time) > now {
			continue
		}
		if by == nil || o.Target == f.Target && by.Target != f.Target {
			by = o
		}
	}
	return by
}
