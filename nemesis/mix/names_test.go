package mix

import (
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// testNames has processes of every role: three Redis nodes alone, one with two replicas, an etcd cluster.
var testNames = nemesis.Names{
	Clients:   []sim.ProcessID{"client-1", "client-2", "client-3"},
	Redis:     []sim.ProcessID{"redis-1", "redis-1-replica-1", "redis-1-replica-2", "redis-2", "redis-3", "redis-4"},
	Consensus: []sim.ProcessID{"etcd-1", "etcd-2", "etcd-3"},
	Shards:    [][]sim.ProcessID{{"redis-1", "redis-1-replica-1", "redis-1-replica-2"}},
	Resource:  "resource",
}
