package scenarios

import (
	"fmt"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// Observer is the name of the Sentinel that watches replicated masters.
const Observer sim.ProcessID = "sentinel-1"

// Tap is a function that can wrap a lock server. Benchmarks use a Tap to record the commands that the server receives.
type Tap func(sim.ProcessID, sim.Server) sim.Server

// Before returns a function that wraps servers with t and adds them to a world.
func (t Tap) Before(w *sim.World) func(sim.ProcessID, sim.Server) {
	return func(id sim.ProcessID, s sim.Server) { w.AddServer(id, t(id, s)) }
}

// Cluster is a run's set of lock servers. It is reused from run to run.
type Cluster interface {
	// Add resets the servers and adds them to a world, for a run of plan p.
	Add(w *sim.World, p nemesis.Plan, wrap Tap)
}

// newCluster creates the servers described by s.
func newCluster(s *Servers) Cluster { return s.backend().Cluster(s) }

// numbered returns the names of n processes: kind-1, kind-2 and so on.
func numbered(kind string, n int) []sim.ProcessID {
	names := make([]sim.ProcessID, n)
	for i := range names {
		names[i] = sim.ProcessID(fmt.Sprintf("%s-%d", kind, i+1))
	}
	return names
}

// asked returns the servers that clients send their lock requests to: the masters, or the members of a cluster.
func (s *Servers) asked() []sim.ProcessID { return numbered(string(s.Backend), s.N) }

// masters returns the number of independent masters, with or without replicas. It returns 0 if the servers replicate a
// single log, or if their number is unknown.
func (s *Servers) masters() int {
	switch {
	case s.consensus():
		return 0
	case s.Cluster: // each lock is on one of the masters
		return min(s.N, 1)
	}
	return s.N
}

// watched reports whether a Sentinel watches the servers.
func (s *Servers) watched() bool { return s.Replicas > 0 && !s.Cluster }

// names returns the names of all lock servers, with the replicas at the end.
func (s *Servers) names() []sim.ProcessID {
	names := s.asked()
	if s.Replicas > 0 {
		for _, group := range s.groups() {
			names = append(names, group[1:]...)
		}
	}
	return names
}

// dialed returns the servers that a client can connect to, with the Sentinel at the end.
func (s *Servers) dialed() []sim.ProcessID {
	if s.watched() {
		return append(s.names(), Observer)
	}
	return s.names()
}

// groups returns the sets of servers that hold the same data: each master with its replicas, or the whole cluster. It
// returns nil if all servers are independent.
func (s *Servers) groups() [][]sim.ProcessID {
	if s.consensus() {
		return [][]sim.ProcessID{s.asked()}
	}
	if s.Replicas == 0 && !s.Cluster {
		return nil
	}
	var all [][]sim.ProcessID
	for _, master := range s.asked() {
		all = append(all, append([]sim.ProcessID{master}, numbered(string(master)+"-replica", s.Replicas)...))
	}
	return all
}

// copies returns the groups of servers that share one copy of the locks. All members of a Redis Cluster form one group.
// Each lock belongs to one master, but while a master is missing, the Cluster does not serve any requests.
func (s *Servers) copies() [][]sim.ProcessID {
	if s.Cluster {
		return [][]sim.ProcessID{s.names()}
	}
	return s.groups()
}

// ReadWall reports whether the servers read their wall clock. If not, they are unaffected when that clock jumps.
func (s *Servers) ReadWall() bool { b := s.backend(); return b == nil || !b.Steady }

// consensus reports whether the servers replicate a single log.
func (s *Servers) consensus() bool { b := s.backend(); return b != nil && b.Service.Kind().OneLog }

// targets returns the servers that faults can strike, including the resource.
func (s *Servers) targets() nemesis.Names {
	names := nemesis.Names{Resource: history.Resource}
	switch {
	case s.consensus():
		names.Consensus = s.names()
		return names
	case !s.RedisNodes():
		names.Alone = s.names()
		return names
	}
	names.Redis, names.Groups = s.names(), s.groups()
	names.Meshed = s.Cluster
	if s.watched() {
		names.Sentinel = Observer
	}
	return names
}
