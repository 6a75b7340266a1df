// Package singletest provides run reports for testing the packages that display runs.
package singletest

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Runs lists example runs by name. Each call to a Run function creates a new run.
var Runs = []struct {
	Name string
	Run  func() *single.Run
}{
	{"kleppmann", Kleppmann}, {"fenced", Fenced}, {"restart", Restart}, {"calm", Calm}, {"deadlock", Deadlock},
	{"long", Long},
}

// unexpected returns an example history's run, for a scenario that does not expect a violation.
func unexpected(s reporttest.Story) *single.Run {
	h := s.History
	r := &single.Run{Scenario: s.Scenario, Summary: s.Summary, Seed: 7, Digest: "00c0ffee00c0ffee", Plan: s.Plan,
		OK:      true,
		History: h, Events: 3 * len(h.Events), Simulated: h.Header.End.Duration(), Metrics: checker.Measure(h),
		Verdict: checker.Verdict{Findings: s.Findings}, Repeat: "fencepost run " + s.Scenario + " --seed 7"}
	for _, f := range s.Findings {
		if f.Outcome == checker.Violated {
			r.Expected = append(r.Expected, Line(f.Law, format.Law{Outcome: checker.Holds}, f.Outcome, false))
			r.OK = false
		}
	}
	return r
}

// Line compares a law's outcome with an expectation, which may be nil.
func Line(law checker.Law, expected single.Expectation, outcome checker.Outcome, ok bool) single.ExpectLine {
	line := single.ExpectLine{Name: string(law), Expected: expected, Outcome: outcome, Standing: document.Standing{
		Result: document.Failed, Broken: outcome == checker.Violated, Named: expected != nil,
		Promise: expected == single.Promised}}
	if ok {
		line.Standing.Result = document.Passed
	}
	return line
}

// Kleppmann returns the run in which the holder is paused beyond the end of its lease. The scenario expects the
// violation that follows.
func Kleppmann() *single.Run {
	r := unexpected(reporttest.Kleppmann())
	r.Source, r.Seed, r.Digest, r.Events = "an author, a title, https://example.org", 1, "9f86d081884c7d65", 143
	r.Repeat, r.OK = "fencepost run kleppmann-gc-pause --seed 1", true
	r.Expected = []single.ExpectLine{
		Line(checker.LeaseExclusion, format.Law{Outcome: checker.Holds}, checker.Holds, true),
		Line(checker.MutualExclusion, format.Law{Outcome: checker.Violated,
			Cause: checker.Cause{Kind: checker.HolderOutlivedLease}}, checker.Violated, true),
		Line(checker.ResourceSafety, format.Law{Outcome: checker.Violated}, checker.Violated, true),
		single.MetricLine(format.Bound{Name: "fencing_token_reject_rate", Text: "0"}, false),
	}
	return r
}

// Fenced returns a run in which a holder is paused beyond the end of its lease, as in Kleppmann's example, but the
// resource checks fencing tokens.
func Fenced() *single.Run {
	r := unexpected(reporttest.Fenced())
	r.OK = true
	r.Expected = []single.ExpectLine{Line(checker.Law(r.Expected[0].Name), format.Law{Outcome: checker.Violated},
		checker.Violated, true)}
	return r
}

// Restart returns a run in which a server loses a lock when it restarts.
func Restart() *single.Run { return unexpected(reporttest.Restart()) }

// Calm returns a run in which no laws are broken.
func Calm() *single.Run { return unexpected(reporttest.Calm()) }

// Deadlock returns a run in which nobody can acquire the lock anymore.
func Deadlock() *single.Run { return unexpected(reporttest.Deadlock()) }

// Long returns a run with many events.
func Long() *single.Run { return unexpected(reporttest.Long()) }
