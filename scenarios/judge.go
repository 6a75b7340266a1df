package scenarios

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// Judge judges what a run of s has left behind.
func (s *Scenario) Judge(r Result) expect.Judgement {
	j := expect.Judgement{Verdict: checker.Check(r.History), Metrics: checker.Measure(r.History)}
	j.Mismatches, j.Undecided = s.Expect.Match(j.Verdict, j.Metrics)
	return j
}

// FromLibrary reports whether the clients' lock is a library's.
func (s *Scenario) FromLibrary() bool {
	return slices.ContainsFunc(s.Clients, func(c Client) bool { return c.Lock.Protocol == locks.FromLibrary })
}

// Targets are the processes that faults can strike in runs of s.
func (s *Scenario) Targets() nemesis.Names {
	names := s.Servers.targets()
	names.Guests = s.FromLibrary()
	for i := range s.Clients {
		names.Clients = append(names.Clients, s.Clients[i].ID)
	}
	return names
}
