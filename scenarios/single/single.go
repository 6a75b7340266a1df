// Package single reports one run, or one history that was recorded elsewhere, in every output format.
//
// Goals: the verdict comes first; the reader can see the critical section outlive its lease; every failure comes with
// its seed, its plan, a description of the events that show it (the witness), and a command that repeats it. A fault is
// called necessary for a violation only after the run has been repeated without it. Identical runs produce identical
// reports, byte for byte.
//
// Non-goals: checking the laws (checker), many runs (search), the smallest plan (search), how to fix the lock (advise).
package single

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/headline"
	"github.com/fencepost-sim/fencepost/reports/timeline"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// Run is a run and everything that a report says about it. It is plain data, so it can describe a real system's history
// as well as a simulated run.
type Run struct {
	Scenario  string
	Summary   string // describes the situation for a reader who does not know it
	Source    string // document in which the situation is described
	Seed      uint64
	Digest    string
	Plan      []string // one fault per line
	Idle      []Idle   // for each fault in Plan, why it had no effect; nil if unknown
	Missed    []nemesis.Missed
	Expected  []ExpectLine
	OK        bool // whether every law and metric is as expected
	Promise   bool // whether the run is compared with the scenario's promise, not with its expectation
	Undecided bool // whether an expected outcome could not be decided; if so, OK has no meaning
	Verdict   checker.Verdict
	History   *history.History // nil means an empty history
	Metrics   checker.Metrics
	Events    int                // number of events in the simulation, including messages and timers
	Simulated time.Duration      // true time at the end of the run
	Files     string             // folder with plan, history and verdict; empty if they were not written
	Repeat    string             // command that repeats this run
	Notes     []string           // other facts that a reader must know; a run has notes only if it was in real time
	Messages  []timeline.Message // messages in the timeline; nil unless the reader asked for them
	Recording *Recording         // set for a history that was recorded elsewhere; nil for a run
	Focus     *Focus             // violation that the headline is about; if nil, the most serious one
}

// Focus is the violation that a run should show: a law and the cause of its violation.
type Focus struct {
	Law   checker.Law
	Cause checker.Cause
}

// Explain returns a run's report and explains its verdict. For each violation, it finds out which faults are needed, by
// running the plan again without some of the faults. For each law that is undecided because of the run's limit, it
// looks for a longer limit that decides the law.
func Explain(s *scenarios.Scenario, r scenarios.Result, judged format.Judgment) (*Run, error) {
	if err := NewTrials(s).Try(r.Plan, r.History, &judged.Verdict); err != nil {
		return nil, err
	}
	if r.Limited {
		if err := raise(s, r.Plan, &judged.Verdict); err != nil {
			return nil, err
		}
	}
	return NewRun(s, r, judged), nil
}

// NewRun returns a run's report. Unlike Explain, it does not repeat the run to find out which faults are needed or
// which longer limit would decide a law, so it also works for a run that cannot be repeated.
func NewRun(s *scenarios.Scenario, r scenarios.Result, judged format.Judgment) *Run {
	result := judged.Standing()
	run := &Run{
		Scenario: s.Name, Summary: s.Summary, Source: s.Source, Seed: r.Plan.Seed,
		Digest:   fmt.Sprintf("%016x", uint64(r.Digest)),
		Expected: expectLines(s, &judged),
		OK:       result == document.Passed, Undecided: result == document.Undecided,
		Verdict: judged.Verdict, History: r.History, Metrics: judged.Metrics,
		Events: r.Events, Simulated: r.History.Header.End.Duration(),
	}
	for _, f := range campaign.PlannedIn(r.Plan.Faults, r.History) {
		run.Plan, run.Idle = append(run.Plan, f.Line), append(run.Idle, idleness(f))
	}
	run.Missed = r.Missed
	return run
}

// HoldTo judges the run by a promise instead of its scenario's expectation.
func (r *Run) HoldTo(promise checker.Promise) {
	r.Expected, r.Promise = nil, true
	failed, undecided := false, false
	for i := range r.Verdict.Findings {
		f := &r.Verdict.Findings[i]
		if !slices.Contains(promise.Laws, f.Law) {
			continue
		}
		line := ExpectLine{Name: string(f.Law), Expected: Promised, Outcome: f.Outcome,
			Standing: document.Standing{Result: document.Passed, Named: true, Promise: true}}
		switch {
		case promise.ExcusesAll(f):
			line.Standing.Broken, line.Standing.Excused = true, true
		case f.Outcome == checker.Violated:
			line.Standing.Result, line.Standing.Broken = document.Failed, true
			failed = true
		case f.Outcome == checker.Undecided:
			line.Standing.Result = document.Undecided
			undecided = true
		}
		r.Expected = append(r.Expected, line)
	}
	r.OK, r.Undecided = !failed && !undecided, undecided && !failed
}

// real reports whether the run took place in real time. Apart from recordings, only real-time runs have notes.
func (r *Run) real() bool { return r.Recording == nil && len(r.Notes) > 0 }

// Recorded returns the run's history. It never returns nil.
func (r *Run) Recorded() *history.History {
	if r.History == nil {
		return &history.History{}
	}
	return r.History
}

// Lanes returns the run's history arranged for the timeline.
func (r *Run) Lanes() *timeline.Lanes {
	lanes := timeline.Arrange(r.Recorded(), r.Verdict.Findings)
	if r.Recording != nil {
		lanes.ToTheMicrosecond()
	}
	lanes.Carry(r.Messages)
	return lanes
}

// Findings returns one finding for each law in checker.Laws, in that order, followed by the findings for other laws.
func (r *Run) Findings() []checker.Finding {
	out := make([]checker.Finding, 0, len(checker.Laws))
	for _, law := range checker.Laws {
		out = append(out, r.Verdict.Of(law))
	}
	for _, f := range r.Verdict.Findings {
		if !slices.Contains(checker.Laws, f.Law) {
			out = append(out, f)
		}
	}
	return out
}

// Headline returns the report's first sentence.
func (r *Run) Headline() string { return headline.Of(r.Recorded(), r.newsworthy()) }

// Gravest returns the law whose violation the headline is about, or "" if no law was violated.
func (r *Run) Gravest() checker.Law {
	if f := headline.Gravest(r.newsworthy()); f != nil {
		return f.Law
	}
	return ""
}

// newsworthy returns the findings for the headline. If the run shows the violation in Focus, this is that violation.
// Otherwise, if there are unexpected violations, these are they. If there are none, newsworthy returns the whole
// verdict.
func (r *Run) newsworthy() checker.Verdict {
	if r.Focus != nil {
		f := r.Verdict.Of(r.Focus.Law)
		if b := f.By(r.Focus.Cause); b != nil {
			return checker.Verdict{Findings: []checker.Finding{*b}}
		}
	}
	if r.OK || r.Recording != nil {
		return r.Verdict
	}
	var surprise checker.Verdict
	for _, f := range r.Verdict.Findings {
		if e := r.expectation(string(f.Law)); f.Outcome == checker.Violated && e != nil && !e.OK() {
			surprise.Findings = append(surprise.Findings, f)
		}
	}
	if len(surprise.Findings) > 0 {
		return surprise
	}
	return r.Verdict
}

// standing says how the run compares with its scenario's expectation, or how a recorded history was judged.
func (r *Run) standing() document.Standing {
	s := document.Standing{Result: document.Failed, Broken: r.Verdict.Violated(), Named: Named(r.Expected),
		Promise: r.Promise}
	for _, f := range r.Verdict.Findings {
		s.Held = s.Held || f.Outcome == checker.Holds && !s.Broken
	}
	s.Excused = s.Broken && !slices.ContainsFunc(r.Verdict.Findings, func(f checker.Finding) bool {
		e := r.expectation(string(f.Law))
		return f.Outcome == checker.Violated && (e == nil || !e.Standing.Excused)
	})
	switch {
	case r.Recording != nil:
		s.Result = r.Standing()
	case r.Undecided:
		s.Result = document.Undecided
	case r.OK:
		s.Result = document.Passed
	}
	return s
}

// explained returns the explanations for a finding and for any other breaches, one per line.
func explained(f *checker.Finding) string {
	lines := ""
	if f.Explanation != "" {
		lines = f.Explanation + "\n"
	}
	for i := range f.Further {
		lines += fmt.Sprintf("Also by %s: %s\n", f.Further[i].Cause, f.Further[i].Explanation)
	}
	return lines
}

// Story explains a law's outcome, and says how to repeat the run.
func (r *Run) Story(law string) string {
	var b strings.Builder
	f := r.Verdict.Of(checker.Law(law))
	b.WriteString(explained(&f))
	fmt.Fprintf(&b, "seed %d\n%s\nagain: %s", r.Seed, strings.Join(r.Plan, "\n"), r.Repeat)
	return b.String()
}
