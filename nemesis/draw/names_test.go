package draw

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// testNames are processes of many kinds: three Redis nodes without replicas, one with two replicas, and an etcd
// cluster.
var testNames = nemesis.Names{
	Clients:   []sim.ProcessID{"client-1", "client-2", "client-3"},
	Redis:     []sim.ProcessID{"redis-1", "redis-1-replica-1", "redis-1-replica-2", "redis-2", "redis-3", "redis-4"},
	Consensus: []sim.ProcessID{"etcd-1", "etcd-2", "etcd-3"},
	Sessions:  true,
	Groups:    [][]sim.ProcessID{{"redis-1", "redis-1-replica-1", "redis-1-replica-2"}},
	Resource:  "resource",
	Locks:     []history.Lock{"lock", "orders:1/a"},
}

// weightsOf returns weights of 1 for the given kinds and 0 for all others.
func weightsOf(kinds ...nemesis.Kind) Weights {
	var w Weights
	for _, k := range kinds {
		w[k] = 1
	}
	return w
}
