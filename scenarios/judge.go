package scenarios

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// Judge judges the result of a run of s, and compares it with s's expectations.
func (s *Scenario) Judge(r Result) format.Judgment {
	j := format.Judgment{Verdict: checker.Check(r.History), Metrics: checker.Measure(r.History)}
	r.Qualify(j.Verdict)
	j.Mismatches, j.Undecided = s.Expect.Match(j.Verdict, j.Metrics, s.Promise)
	return j
}

// Qualify makes uncertain outcomes in v undecided: violations that a host stall may have caused, and laws that hold in
// a run in which a client ended early.
func (r *Result) Qualify(v checker.Verdict) {
	for i := range v.Findings {
		f := &v.Findings[i]
		certain := func(b *checker.Finding) bool { return !slices.Contains(byDelay, b.Cause.Kind) }
		if r.Stalled != "" && f.Outcome == checker.Violated && !f.Retain(certain) {
			*f = checker.Finding{Law: f.Law, Outcome: checker.Undecided, Explanation: r.Stalled}
		}
		if r.EndedEarly != "" && f.Outcome == checker.Holds {
			*f = checker.Finding{Law: f.Law, Outcome: checker.Undecided, Explanation: r.EndedEarly}
		}
	}
}

// byDelay lists the causes of violations that a host stall may have caused. For example, a client may time out and give
// up because the host has delayed it, and its key may then block other clients.
var byDelay = []checker.CauseKind{checker.StuckWithoutHolder, checker.StuckBehindAbandoned, checker.TooSlow}

// FromLibrary reports whether the clients' lock comes from a library.
func (s *Scenario) FromLibrary() bool {
	return slices.ContainsFunc(s.Clients, func(c Client) bool { return c.Lock.Protocol == locks.FromLibrary })
}

// Targets returns the processes that faults can strike in runs of s.
func (s *Scenario) Targets() nemesis.Names {
	names := s.Servers.targets()
	names.Sessions = s.Service().Kind().Sessions
	names.Guests = s.FromLibrary()
	if s.code != nil {
		names.Passed = s.code.Programs
	}
	for i := range s.Clients {
		names.Clients = append(names.Clients, s.Clients[i].ID)
	}
	names.Locks = s.Locks()
	return names
}
