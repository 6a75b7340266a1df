// Package nemesistest contains what the tests of package nemesis and of the packages below it share.
//
// Non-goals: anything that the program itself needs. Only tests import this package.
package nemesistest

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// Names are processes of many kinds: three Redis nodes without replicas, one with two replicas, and an etcd cluster.
// The tests inside package nemesis cannot import this package, so they have a copy. A test checks that it is equal.
var Names = nemesis.Names{
	Clients:   []sim.ProcessID{"client-1", "client-2", "client-3"},
	Redis:     []sim.ProcessID{"redis-1", "redis-1-replica-1", "redis-1-replica-2", "redis-2", "redis-3", "redis-4"},
	Consensus: []sim.ProcessID{"etcd-1", "etcd-2", "etcd-3"},
	Sessions:  true,
	Groups:    [][]sim.ProcessID{{"redis-1", "redis-1-replica-1", "redis-1-replica-2"}},
	Resource:  "resource",
	Locks:     []history.Lock{"lock", "orders:1/a"},
}
