package single

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// Told is what a report says of a run, but for where its files lie and how it is repeated. What the verdict says of
// faults is tried by running again without them, and what its limit left undecided by longer limits.
func Told(s *scenarios.Scenario, r scenarios.Result, judged format.Judgement) (*Run, error) {
	if err := New(s).Try(r.Plan, r.History, &judged.Verdict); err != nil {
		return nil, err
	}
	if r.Limited {
		if err := raise(s, r.Plan, &judged.Verdict); err != nil {
			return nil, err
		}
	}
	return Untried(s, r, judged), nil
}

// Untried is Told, but that nothing is run again: of a run that cannot be had again.
func Untried(s *scenarios.Scenario, r scenarios.Result, judged format.Judgement) *Run {
	standing := judged.Standing()
	run := &Run{
		Scenario: s.Name, Summary: s.Summary, Source: s.Source, Seed: r.Plan.Seed,
		Digest:   fmt.Sprintf("%016x", uint64(r.Digest)),
		Expected: expectLines(s, &judged),
		OK:       standing == document.Passed, Undecided: standing == document.Undecided,
		Verdict: judged.Verdict, History: r.History, Metrics: judged.Metrics,
		Events: r.Events, Simulated: r.History.Header.End.Duration(),
	}
	for _, f := range campaign.PlannedIn(r.Plan.Faults, r.History) {
		run.Plan = append(run.Plan, f.Line)
		idle := ""
		switch {
		case f.Struck == 0:
			idle = neverStruck
		case f.Met == 0:
			idle = inVain
		}
		run.Idle = append(run.Idle, idle)
	}
	return run
}

// expectLines holds each law, and each metric that the scenario names, against its expectation.
func expectLines(s *scenarios.Scenario, j *format.Judgement) []ExpectLine {
	missed := map[string]bool{}
	for _, m := range j.Mismatches {
		missed[m.Name] = true
	}
	var lines []ExpectLine
	for _, law := range checker.Laws {
		f, came := j.Verdict.Of(law), campaign.Counts{}
		came.Count(f.Outcome)
		if s.Promise.Excuses(f.Cause) {
			came.Excused = came.Violated
		}
		line := LawLine(s, law, came, missed[string(law)])
		line.Got = f.Came()
		switch f.Outcome {
		case checker.Violated:
			line.How = ": " + strings.TrimPrefix(line.Got, "violated by ")
		case checker.Holds:
			line.How = strings.TrimPrefix(line.Got, checker.Holds.String())
		case checker.Undecided, checker.Unchecked:
			line.How = ": " + f.Explanation
		}
		lines = append(lines, line)
	}
	for _, b := range s.Expect.Metrics {
		got := "no value"
		if m, measured := j.Metrics.Of(b.Name); measured {
			got = value(m)
		}
		lines = append(lines, MetricLine(b, got, missed[b.Name]))
	}
	return lines
}

// HoldTo holds the run against promises, in place of what its scenario expects.
func (r *Run) HoldTo(promise checker.Promise) {
	r.Expected, r.OK, r.Undecided, r.Promise = nil, false, false, true
	for _, f := range r.Verdict.Findings {
		if !slices.Contains(promise.Laws, f.Law) {
			continue
		}
		line := ExpectLine{Name: string(f.Law), Expected: Promised, Got: f.Outcome.String(),
			Standing: document.Standing{Result: document.Passed, Named: true, Promise: true}}
		switch {
		case f.Outcome == checker.Violated && promise.Excuses(f.Cause):
			line.Standing.Broken, line.Standing.Excused = true, true
		case f.Outcome == checker.Violated:
			line.Standing.Result, line.Standing.Broken = document.Failed, true
		}
		r.Expected = append(r.Expected, line)
	}
}
