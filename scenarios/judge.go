package scenarios

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// Judgement is what a run comes to, held against what its scenario expects.
type Judgement struct {
	Verdict    checker.Verdict
	Metrics    checker.Metrics
	Mismatches []Mismatch
	Undecided  bool // a law named in the expectation could not be told
}

// Standing says how a run stands to its scenario's expectation.
type Standing uint8

// The zero Standing is no pass.
const (
	NotJudged    Standing = iota
	AsExpected            // everything came out as the scenario expects
	Otherwise             // something did not
	NotDecidable          // nothing came out otherwise, but something named could not be told
)

// Standing sums the judgement up.
func (j *Judgement) Standing() Standing {
	switch {
	case len(j.Mismatches) > 0:
		return Otherwise
	case j.Undecided:
		return NotDecidable
	case len(j.Verdict.Findings) == 0:
		return NotJudged
	}
	return AsExpected
}

// Judge judges what a run of s has left behind.
func (s *Scenario) Judge(r Result) Judgement {
	j := Judgement{Verdict: checker.Check(r.History), Metrics: checker.Measure(r.History)}
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
