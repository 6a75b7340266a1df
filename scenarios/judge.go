package scenarios

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
)

// Judge judges what a run of s has left behind.
func (s *Scenario) Judge(r Result) expect.Judgement {
	j := expect.Judgement{Verdict: checker.Check(r.History), Metrics: checker.Measure(r.History)}
	j.Mismatches, j.Undecided = s.Expect.Match(j.Verdict, j.Metrics)
	return j
}

// Targets are the processes that faults can strike in runs of s.
func (s *Scenario) Targets() nemesis.Names {
	names := s.Servers.targets()
	for i := range s.Clients {
		names.Clients = append(names.Clients, s.Clients[i].ID)
	}
	return names
}
