package scenarios

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/front"
)

func init() {
	RegisterBackend(&Backend{Kind: locks.OnRedis, Place: 1, Most: maxServers, Redis: true,
		Front: front.Redis{}, Called: "Redis", Service: history.Redis, Several: history.Redlock,
		Upkeep: []string{"auth", "client", "cluster", "command", "config", "echo", "hello", "info", "ping", "quit",
			"readonly", "readwrite", "reset", "role", "select"},
		Meaning: "how many independent Redis masters: redis-1, redis-2 …; " +
			"every protocol on Redis except redlock needs exactly 1",
		Settings: slices.Concat(redisSettings, clusterSettings, replicaSettings),
		fields:   []string{"persistence", "notify-keyspace-events"},
		check:    checkRedis,
		Silence:  untilClusterServes,
		Cluster:  func(s *Servers) Cluster { return newRedisCluster(s) }})
}

// redisSettings are the settings for Redis nodes. replicaSettings apply only to Redis nodes with replicas.
var (
	redisSettings = []format.Key[Servers]{
		format.Choice("version", func(s *Servers) *string { return &s.Version },
			"the version of Redis, which determines its commands and options: `7.0` is 7.0.15; "+
				"`8` is 8.4 according to its documentation, with DELEX and SET … IFEQ; "+
				"`tair` is 7.0 with Tair's CAD and CAS. "+
				"A version refuses commands that it does not have, as the real server does. "+
				"sim/redis/COMMANDS.md lists what is not simulated",
			format.Options("7.0", "8", "tair")...),
		format.Number("replicas", func(s *Servers) *int { return &s.Replicas }, 0, 0, maxReplicas,
			"the number of replicas of each master: redis-1-replica-1 …; "+
				"with replicas, but without `cluster`, there is a Sentinel, sentinel-1, "+
				"which promotes a replica when its master is down; clients follow the promoted replica"),
	}
	clusterSettings = []format.Key[Servers]{
		format.Switch("cluster", func(s *Servers) *bool { return &s.Cluster }, false,
			"the masters form a Redis Cluster: each serves a share of the keys, clients follow redirections, "+
				"and a master that is down is replaced by a replica that the other masters elect"),
		format.Positive("node-timeout", func(s *Servers) *time.Duration { return &s.NodeTimeout },
			redis.DefaultNodeTimeout, "how long a member of a Cluster must be silent before the others replace it, "+
				"and how long a master that reaches only a minority continues to serve").Recurring(),
	}
	replicaSettings = []format.Key[Servers]{
		format.Number("min-replicas-to-write", func(s *Servers) *int { return &s.MinReplicasToWrite }, 0, 0,
			maxReplicas,
			"a master refuses writes unless this many replicas have acknowledged within `min-replicas-max-lag`"),
		format.Positive("min-replicas-max-lag", func(s *Servers) *time.Duration { return &s.MinReplicasMaxLag },
			redis.DefaultMinReplicasMaxLag, "how old a replica's last acknowledgment may be; "+
				"see `min-replicas-to-write`"),
		format.Switch("semi-sync", func(s *Servers) *bool { return &s.SemiSync }, false,
			"replies to writes wait for one replica (Tair)"),
		format.Positive("semi-sync-timeout", func(s *Servers) *time.Duration { return &s.SemiSyncTimeout },
			redis.DefaultSemiSyncTimeout,
			"how long the master waits for a replica; "+
				"after this time, it stops waiting until a replica has caught up"),
		format.Positive("down-after", func(s *Servers) *time.Duration { return &s.DownAfter }, redis.DefaultDownAfter,
			"how long a master must be silent before the Sentinel replaces it").Recurring(),
		format.Time("reconfigure-after", func(s *Servers) *time.Duration { return &s.ReconfigureAfter },
			redis.DefaultReconfigureAfter,
			"how long a deposed master continues to serve once the Sentinel can reach it again"),
	}
)

// ofSentinel lists the Sentinel's settings.
var ofSentinel = []string{"down-after", "reconfigure-after"}

// leastMasters is the smallest number of masters that still have a majority after one of them has failed.
const leastMasters = 3

// checkRedis reports Redis server settings that contradict each other.
func checkRedis(f *file) {
	checkReplicas(f)
	s := &f.scenario.Servers
	place, given := f.inServers["node-timeout"]
	switch {
	case !s.Cluster && given:
		f.Problem(place, "", "`node-timeout` is a setting of a Cluster: remove it, or write `cluster: on`")
	case s.Cluster && s.N < leastMasters:
		f.Problem(f.inServers["cluster"], "", "a Cluster needs at least %d masters, "+
			"so that a majority is left when one fails: write `redis: %d`, or `cluster: "+
			"off`", leastMasters, leastMasters)
	}
	for _, key := range ofSentinel {
		if place, given := f.inServers[key]; given && s.Cluster {
			f.Problem(place, "", "%s is a setting of the Sentinel, but a Cluster has no Sentinel: "+
				"remove it, or use `node-timeout`", key)
		}
	}
}

// untilClusterServes returns how long after a fault a Cluster may be unable to serve requests. Once a master is working
// again, the other members trust it within twice the node timeout. A replica that was not elected asks for votes again
// after four times the node timeout. Five seconds are added as a margin.
func untilClusterServes(s *Servers) time.Duration {
	if !s.Cluster {
		return 0
	}
	return 6*s.NodeTimeout + 5*time.Second
}

// checkReplicas reports replica settings in a scenario that does not have enough replicas.
func checkReplicas(f *file) {
	s := &f.scenario.Servers
	for _, k := range replicaSettings {
		if place, given := f.inServers[k.Path]; given && s.Replicas == 0 &&
			!(s.Cluster && slices.Contains(ofSentinel, k.Path)) {
			f.Problem(place, "", "`%s` needs replicas, but there are none: set `replicas` to 1 or more", k.Path)
		}
	}
	if s.MinReplicasToWrite > s.Replicas && s.Replicas > 0 {
		f.Problem(f.inServers["min-replicas-to-write"], "",
			"`min-replicas-to-write` is %d, but the number of replicas is %d", s.MinReplicasToWrite, s.Replicas)
	}
}

// redisCluster is a set of Redis masters. If they have replicas, one Sentinel watches all the masters.
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

func (c *redisCluster) Add(w *sim.World, p nemesis.Plan, wrap Tap) {
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
	if c.watched() {
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
	by := history.BySentinel
	if c.Servers.Cluster {
		by = history.ByCluster
	}
	group := &redis.Group{Promoted: func(old, promoted sim.ProcessID) {
		recordFailOver(w, p.Faults, old, promoted, by)
	}}
	config := c.config()
	config.Group = group
	if c.Servers.Cluster {
		config.Cluster = &redis.ClusterConfig{Groups: c.groups, NodeTimeout: c.NodeTimeout}
	}
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

// RecordFailOver records that a replica has become master, because a checker must know which server was replaced. If
// one of the plan's faults ordered the failover, the event includes the fault's line in the plan. Otherwise it says
// that the Sentinel decided.
func RecordFailOver(w *sim.World, plan []nemesis.Fault, old, promoted sim.ProcessID) {
	recordFailOver(w, plan, old, promoted, history.BySentinel)
}

// recordFailOver records that a replica has become master, because a checker must know which server was replaced. If
// one of the plan's faults ordered the failover, the event includes the fault's line in the plan. Otherwise it includes
// the given reason.
func recordFailOver(w *sim.World, plan []nemesis.Fault, old, promoted sim.ProcessID, by history.Why) {
	f := nemesis.Fault{Kind: nemesis.FailOver, Target: old, Peer: promoted}
	e := history.Event{Type: history.Invoke, F: history.FailOver, Value: f.Recorded(), Fault: f.Struck(),
		Why: by}
	if o := ordered(plan, &f, w.Now()); o != nil {
		e.Value, e.Why = o.Recorded(), ""
	}
	w.Record(history.Nemesis, e)
	e.Type = history.OK
	w.Record(history.Nemesis, e)
}

// ordered finds the fault in the plan that ordered failover f, or returns nil if there is none. The replica that takes
// over must be the one named in the fault, but the old master may be a different server. A fault whose time has not
// come is ignored. A fault without a time is not.
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
