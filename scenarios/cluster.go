package scenarios

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// sentinel is the observer of replicated masters.
const sentinel sim.ProcessID = "sentinel-1"

// cluster is the lock servers of a run. It is used for one run after the other.
type cluster interface {
	// add resets the servers and adds them to a world.
	add(w *sim.World, wrap func(sim.ProcessID, sim.Server) sim.Server)
}

// newCluster makes the servers that s asks for.
func newCluster(s *Servers) cluster {
	return newRedisCluster(s)
}

// names lists the lock servers, masters first.
func (s *Servers) names() []sim.ProcessID {
	names := s.masters()
	for _, shard := range s.shards() {
		names = append(names, shard[1:]...)
	}
	return names
}

// masters are the servers that a client of the lock asks at first.
func (s *Servers) masters() []sim.ProcessID {
	names := make([]sim.ProcessID, s.Redis)
	for i := range names {
		names[i] = sim.ProcessID(fmt.Sprintf("redis-%d", i+1))
	}
	return names
}

// shards are the groups of servers that hold the same data, master first; none if every server stands alone.
func (s *Servers) shards() [][]sim.ProcessID {
	if s.Replicas == 0 {
		return nil
	}
	var all [][]sim.ProcessID
	for _, master := range s.masters() {
		shard := []sim.ProcessID{master}
		for i := range s.Replicas {
			shard = append(shard, sim.ProcessID(fmt.Sprintf("%s-replica-%d", master, i+1)))
		}
		all = append(all, shard)
	}
	return all
}

// targets are the servers that faults can strike, and the resource.
func (s *Servers) targets() nemesis.Names {
	names := nemesis.Names{Redis: s.names(), Shards: s.shards(), Resource: history.Resource}
	if s.Replicas > 0 {
		names.Sentinel = sentinel
	}
	return names
}

// redisCluster is Redis masters, each alone or with replicas and a Sentinel that watches them.
type redisCluster struct {
	*Servers
	names []sim.ProcessID
	nodes []*redis.Node
}

func newRedisCluster(s *Servers) *redisCluster {
	c := &redisCluster{Servers: s, names: s.names()}
	for range c.names {
		c.nodes = append(c.nodes, redis.New(redis.Config{}))
	}
	return c
}

func (c *redisCluster) add(w *sim.World, wrap func(sim.ProcessID, sim.Server) sim.Server) {
	shards := c.shards()
	if len(shards) == 0 {
		for _, node := range c.nodes {
			node.Reset(c.config())
		}
	}
	for _, shard := range shards {
		c.resetShard(w, shard)
	}
	for i, id := range c.names {
		w.AddServer(id, wrap(id, c.nodes[i]))
	}
	if len(shards) > 0 {
		w.AddServer(sentinel, redis.NewSentinel(redis.SentinelConfig{Shards: shards, DownAfter: c.DownAfter,
			ReconfigureAfter: c.ReconfigureAfter}))
	}
}

func (c *redisCluster) config() redis.Config {
	return redis.Config{Persistence: c.Persistence, FsyncTime: c.Fsync}
}

// resetShard prepares a master and its replicas for a run.
func (c *redisCluster) resetShard(w *sim.World, shard []sim.ProcessID) {
	group := &redis.Group{Promoted: func(old, promoted sim.ProcessID) { recordFailOver(w, old, promoted) }}
	config := c.config()
	config.Group = group
	config.MinReplicasToWrite, config.MinReplicasMaxLag = c.MinReplicasToWrite, c.MinReplicasMaxLag
	config.SemiSync, config.SemiSyncTimeout = c.SemiSync, c.SemiSyncTimeout
	for i, id := range shard {
		config.Replicas, config.Replicates = shard[1:], ""
		if i > 0 {
			config.Replicas, config.Replicates = nil, shard[0]
		}
		c.nodes[slices.Index(c.names, id)].Reset(config)
	}
}

// recordFailOver records that a replica has become master, whoever decided it: a checker must know who was deposed.
func recordFailOver(w *sim.World, old, promoted sim.ProcessID) {
	e := history.Event{Type: history.Invoke, F: "fail over", Value: fmt.Sprintf("fail over %s to %s", old, promoted), On: []sim.ProcessID{old, promoted}}
	w.Record(history.Nemesis, e)
	e.Type = history.OK
	w.Record(history.Nemesis, e)
}
