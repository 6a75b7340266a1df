package scenarios

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/consensus"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/sentinel"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// observer is the Sentinel of replicated masters.
const observer sim.ProcessID = "sentinel-1"

// tap may put something before a Redis node; benchmarks listen in on the commands.
type tap func(sim.ProcessID, sim.Server) sim.Server

// cluster is the lock servers of a run. It is used for one run after the other.
type cluster interface {
	// add resets the servers and adds them to a world.
	add(w *sim.World, wrap tap)
}

// newCluster makes the servers that s asks for.
func newCluster(s *Servers) cluster {
	switch {
	case s.Etcd > 0:
		c := consensus.Config{Fsync: s.Fsync}
		return &etcdCluster{etcd.New(c, s.names()), c}
	case s.ZooKeeper > 0:
		c := zookeeper.Config{Log: consensus.Config{Fsync: s.Fsync}}
		return &zooKeeperCluster{zookeeper.NewEnsemble(c, s.names()), c}
	default:
		return newRedisCluster(s)
	}
}

// numbered gives the names of n processes of one sort.
func numbered(sort string, n int) []sim.ProcessID {
	names := make([]sim.ProcessID, n)
	for i := range names {
		names[i] = sim.ProcessID(fmt.Sprintf("%s-%d", sort, i+1))
	}
	return names
}

// asked are the servers that a client of the lock asks: the masters, or the members of a cluster.
func (s *Servers) asked() []sim.ProcessID {
	switch {
	case s.Etcd > 0:
		return numbered("etcd", s.Etcd)
	case s.ZooKeeper > 0:
		return numbered("zookeeper", s.ZooKeeper)
	default:
		return numbered("redis", s.Redis)
	}
}

// names lists the lock servers, replicas last.
func (s *Servers) names() []sim.ProcessID {
	names := s.asked()
	if s.Replicas > 0 {
		for _, group := range s.groups() {
			names = append(names, group[1:]...)
		}
	}
	return names
}

// groups are the servers that hold the same data: a master with its replicas, or a whole cluster. There is none
// if every server stands alone.
func (s *Servers) groups() [][]sim.ProcessID {
	if s.consensus() {
		return [][]sim.ProcessID{s.asked()}
	}
	if s.Replicas == 0 {
		return nil
	}
	var all [][]sim.ProcessID
	for _, master := range s.asked() {
		all = append(all, append([]sim.ProcessID{master}, numbered(string(master)+"-replica", s.Replicas)...))
	}
	return all
}

// consensus reports whether the servers agree on one log.
func (s *Servers) consensus() bool { return s.Etcd > 0 || s.ZooKeeper > 0 }

// targets are the servers that faults can strike, and the resource.
func (s *Servers) targets() nemesis.Names {
	names := nemesis.Names{Resource: history.Resource}
	if s.consensus() {
		names.Consensus = s.names()
		return names
	}
	names.Redis, names.Groups = s.names(), s.groups()
	if s.Replicas > 0 {
		names.Sentinel = observer
	}
	return names
}

// etcdCluster is the members of an etcd cluster.
type etcdCluster struct {
	*consensus.Cluster
	config consensus.Config
}

func (c *etcdCluster) add(w *sim.World, _ tap) {
	c.Reset(c.config)
	c.AddTo(w)
}

// zooKeeperCluster is the members of a ZooKeeper ensemble.
type zooKeeperCluster struct {
	*zookeeper.Ensemble
	config zookeeper.Config
}

func (c *zooKeeperCluster) add(w *sim.World, _ tap) {
	c.Reset(c.config)
	c.AddTo(w)
}

// redisCluster is Redis masters, each alone or with replicas and a Sentinel that watches them.
type redisCluster struct {
	*Servers
	names  []sim.ProcessID
	groups [][]sim.ProcessID // none without replicas
	nodes  []*redis.Node
}

func newRedisCluster(s *Servers) *redisCluster {
	c := &redisCluster{Servers: s, names: s.names(), groups: s.groups()}
	for range c.names {
		c.nodes = append(c.nodes, redis.New(redis.Config{}))
	}
	return c
}

func (c *redisCluster) add(w *sim.World, wrap tap) {
	if len(c.groups) == 0 {
		for _, node := range c.nodes {
			node.Reset(c.config())
		}
	}
	for _, group := range c.groups {
		c.resetGroup(w, group)
	}
	for i, id := range c.names {
		w.AddServer(id, wrap(id, c.nodes[i]))
	}
	if len(c.groups) > 0 {
		w.AddServer(observer, sentinel.New(sentinel.Config{Groups: c.groups, DownAfter: c.DownAfter,
			ReconfigureAfter: c.ReconfigureAfter}))
	}
}

func (c *redisCluster) config() redis.Config {
	return redis.Config{Persistence: c.Persistence, FsyncTime: c.Fsync}
}

// resetGroup prepares a master and its replicas for a run.
func (c *redisCluster) resetGroup(w *sim.World, members []sim.ProcessID) {
	group := &redis.Group{Promoted: func(old, promoted sim.ProcessID) { recordFailOver(w, old, promoted) }}
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

// recordFailOver records that a replica has become master, whoever decided it: a checker must know who was deposed.
func recordFailOver(w *sim.World, old, promoted sim.ProcessID) {
	f := nemesis.Fault{Kind: nemesis.FailOver, Target: old, Peer: promoted}
	e := history.Event{Type: history.Invoke, F: history.FailOver, Value: f.Recorded(), Fault: f.Struck()}
	w.Record(history.Nemesis, e)
	e.Type = history.OK
	w.Record(history.Nemesis, e)
}
