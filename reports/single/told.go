package single

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
	"github.com/fencepost-sim/fencepost/scenarios/rerun"
	"github.com/fencepost-sim/fencepost/scenarios/tally"
)

// Told is what a report says of a run, but for where its files lie and how it is repeated. What the verdict says of
// faults is tried by running again without them.
func Told(s *scenarios.Scenario, r scenarios.Result, judged expect.Judgement) (*Run, error) {
	if err := rerun.New(s).Try(r.Plan, r.History, &judged.Verdict); err != nil {
		return nil, err
	}
	return Untried(s, r, judged), nil
}

// Untried is Told, but that nothing is run again: of a run that cannot be had again.
func Untried(s *scenarios.Scenario, r scenarios.Result, judged expect.Judgement) *Run {
	standing := judged.Standing()
	run := &Run{
		Scenario: s.Name, Summary: s.Summary, Source: s.Source, Seed: r.Plan.Seed,
		Digest:   fmt.Sprintf("%016x", uint64(r.Digest)),
		Expected: expectLines(s, judged), OK: standing == expect.AsExpected, Undecided: standing == expect.NotDecidable,
		Verdict: judged.Verdict, History: r.History, Metrics: judged.Metrics,
		Events: r.Events, Simulated: r.History.Header.End.Duration(),
	}
	for _, f := range tally.PlannedIn(r.Plan.Faults, r.History) {
		run.Plan = append(run.Plan, f.Line)
		idle := ""
		switch {
		case f.Struck == 0:
			idle = "never struck"
		case f.Met == 0:
			idle = "struck when no lock was asked for or held"
		}
		run.Idle = append(run.Idle, idle)
	}
	return run
}

// expectLines holds each law, and each metric that the scenario names, against its expectation.
func expectLines(s *scenarios.Scenario, j expect.Judgement) []ExpectLine {
	missed := map[string]bool{}
	for _, m := range j.Mismatches {
		missed[m.Name] = true
	}
	var lines []ExpectLine
	for _, law := range checker.Laws {
		f := j.Verdict.Of(law)
		line := ExpectLine{Name: string(law), Expected: "not violated", Got: f.Came(), OK: !missed[string(law)]}
		if e, named := s.Expect.Laws[law]; named {
			line.Expected = e.String()
		}
		lines = append(lines, line)
	}
	for _, b := range s.Expect.Metrics {
		line := ExpectLine{Name: b.Name, Expected: b.Text, Got: "no value", OK: !missed[b.Name]}
		if m, measured := j.Metrics.Of(b.Name); measured {
			line.Got = value(m)
		}
		lines = append(lines, line)
	}
	return lines
}

// HoldTo holds the run against promises, in place of what its scenario expects.
func (r *Run) HoldTo(promise []checker.Law) {
	r.Expected, r.OK, r.Undecided = nil, false, false
	for _, f := range r.Verdict.Findings {
		if slices.Contains(promise, f.Law) {
			r.Expected = append(r.Expected,
				ExpectLine{string(f.Law), Promised, f.Outcome.String(), f.Outcome != checker.Violated})
		}
	}
}
