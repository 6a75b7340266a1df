// Package cast names the processes of a run that has all sorts of them, for the tests of faults: three Redis nodes
// alone, one with two replicas, an etcd cluster. It can be told as nemesis.Names, and does not import the nemesis,
// whose own tests use it.
package cast

import "github.com/fencepost-sim/fencepost/sim"

// All are the processes, in the shape of nemesis.Names.
var All = struct {
	Clients, Redis, Consensus []sim.ProcessID
	Groups                    [][]sim.ProcessID
	Sentinel, Resource        sim.ProcessID
	Guests                    bool
}{
	Clients:   []sim.ProcessID{"client-1", "client-2", "client-3"},
	Redis:     []sim.ProcessID{"redis-1", "redis-1-replica-1", "redis-1-replica-2", "redis-2", "redis-3", "redis-4"},
	Consensus: []sim.ProcessID{"etcd-1", "etcd-2", "etcd-3"},
	Groups:    [][]sim.ProcessID{{"redis-1", "redis-1-replica-1", "redis-1-replica-2"}},
	Resource:  "resource",
}
