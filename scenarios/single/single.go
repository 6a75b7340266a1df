// Package single reports one run, or one history that was recorded elsewhere, in every form.
//
// Goals: the verdict comes first; one sees the critical section outlive its lease; every failure ends with its seed,
// its plan, its witness in words and one command to paste. What is called necessary for a violation was tried: the
// faults of the plan were taken away, and the run was made again. The same run gives the same bytes.
// Non-goals: judging (checker), many runs (search), the smallest plan (search), what would mend the lock (advise).
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

// Run is one run with all that a report says of it. It is plain data: a history of a real system can be shown as well
// as a simulated one.
type Run struct {
	Scenario  string
	Summary   string // what the situation is, for a person who never read of it
	Source    string // the document that describes it
	Seed      uint64
	Digest    string
	Plan      []string // one fault a line
	Idle      []Idle   // of each fault in Plan; nil: not known
	Missed    []nemesis.Missed
	Expected  []ExpectLine
	OK        bool // every law and metric came out as expected
	Promise   bool // it is held to what the scenario promises, in place of what it expects
	Undecided bool // something named in the expectation could not be decided; OK says nothing then
	Verdict   checker.Verdict
	History   *history.History // nil is an empty one
	Metrics   checker.Metrics
	Events    int                // of the simulation, messages and timers included; not only those of the history
	Simulated time.Duration      // true time at the end of the run
	Files     string             // folder with plan, history and verdict; empty if they were not written
	Repeat    string             // command to paste that shows this run again
	Notes     []string           // what a reader must know of it beside; of a run in real time, which has no digest
	Messages  []timeline.Message // drawn beside what they did; none unless a reader asks for them
	Recording *Recording         // of a history that was recorded elsewhere; nil for a run
	Focus     *Focus             // the violation that the headline is about; nil: the gravest
}

// Focus names a violation that a run is to show: a law, and the cause by which it is broken.
type Focus struct {
	Law   checker.Law
	Cause checker.Cause
}

// Explain reports a run and explains its verdict: each violation says which faults it needs, which is found by running
// the plan again without them, and what the run's limit left undecided says which longer limit decides it.
func Explain(s *scenarios.Scenario, r scenarios.Result, judged format.Judgement) (*Run, error) {
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

// NewRun reports a run as it is, such as one that cannot be made again.
func NewRun(s *scenarios.Scenario, r scenarios.Result, judged format.Judgement) *Run {
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

// HoldTo holds the run against promises, in place of what its scenario expects.
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

// real reports whether it was a run in real time: what a reader must know of one is always said.
func (r *Run) real() bool { return r.Recording == nil && len(r.Notes) > 0 }

// Recorded returns the run's history, never nil.
func (r *Run) Recorded() *history.History {
	if r.History == nil {
		return &history.History{}
	}
	return r.History
}

// Lanes lays the run's history out.
func (r *Run) Lanes() *timeline.Lanes {
	lanes := timeline.Arrange(r.Recorded(), r.Verdict.Findings)
	if r.Recording != nil {
		lanes.ToTheMicrosecond()
	}
	lanes.Carry(r.Messages)
	return lanes
}

// Findings returns one finding for each law, in the order of checker.Laws, then any of laws not listed there.
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

// Headline is what a person reads first.
func (r *Run) Headline() string { return headline.Of(r.Recorded(), r.newsworthy()) }

// Gravest is the law whose violation the headline is about; empty if none was violated.
func (r *Run) Gravest() checker.Law {
	if f := headline.Gravest(r.newsworthy()); f != nil {
		return f.Law
	}
	return ""
}

// newsworthy is what the headline is about: the violation that the run is to show, if there is one; of a run that came
// out otherwise than expected, what nobody expected.
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

// standing is how the run compares with its scenario's expectation, or how a recorded history was judged.
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

// explained is the explanation of a finding, and that of each further breach, a line each.
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

// Story says why a law came out as it did, and how to see it again.
func (r *Run) Story(law string) string {
	var b strings.Builder
	f := r.Verdict.Of(checker.Law(law))
	b.WriteString(explained(&f))
	fmt.Fprintf(&b, "seed %d\n%s\nagain: %s", r.Seed, strings.Join(r.Plan, "\n"), r.Repeat)
	return b.String()
}
