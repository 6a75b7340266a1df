// Package processes lists the processes of a run of many kinds, for the tests of faults: three Redis nodes alone, one
// with two replicas, an etcd cluster. Its value converts to nemesis.Names; it does not import the nemesis, whose own
// tests use it.
package processes

import "github.com/fencepost-sim/fencepost/sim"

// All lists the processes, in the shape of nemesis.Names.
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
