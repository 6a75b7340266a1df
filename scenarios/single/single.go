// Package single reports one run: as text with a timeline, as a page, as JSON, as metrics and as what a CI system
// counts. Reports of many runs tell by it the runs that show what they found.
//
// Goals: the verdict comes first; one sees the critical section outlive its lease; every failure ends with its seed,
// its plan, its witness in words and one command to paste. The same run gives the same bytes.
// Non-goals: judging (checker), knowing how a run came about. A Run is plain data, so a history of a real system can be
// shown as well as a simulated one.
package single

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/timeline"
)

// Run is one run with all that a report says of it.
type Run struct {
	Scenario string
	Summary  string // what the situation is, for a person who never read of it
	Source   string // the document that describes it
	Seed     uint64
	Digest   string
	Plan     []string // one fault a line
	// of each fault in Plan: why it could do nothing ("never struck"); empty if it could. nil: not known
	Idle      []string
	Expected  []ExpectLine
	OK        bool // every law and metric came out as expected
	Promise   bool // it is held to what the scenario promises, in place of what it expects
	Undecided bool // something named in the expectation could not be told; OK says nothing then
	Verdict   checker.Verdict
	History   *history.History // nil is an empty one
	Metrics   checker.Metrics
	Events    int           // of the simulation, messages and timers included; not only those of the history
	Simulated time.Duration // true time at the end of the run
	Files     string        // folder with plan, history and verdict; empty if they were not written
	Repeat    string        // command to paste that shows this run again
	Notes     []string      // what a reader must know of it beside; of a run in real time, which has no digest
	Recording *Recording    // of a history that was recorded elsewhere; nil for a run
	unseen    []string      // what its pages leave out, a sentence each, once they are made
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
	return lanes
}

// expectation returns what was expected of the law or metric, or nil if nothing is known.
func (r *Run) expectation(name string) *ExpectLine {
	for i := range r.Expected {
		if r.Expected[i].Name == name {
			return &r.Expected[i]
		}
	}
	return nil
}

// Findings returns one finding for each law, in the order of checker.Laws, then any of laws not listed there.
func (r *Run) Findings() []checker.Finding {
	out := make([]checker.Finding, 0, len(checker.Laws))
	listed := map[checker.Law]bool{}
	for _, law := range checker.Laws {
		listed[law] = true
		out = append(out, r.Verdict.Of(law))
	}
	for _, f := range r.Verdict.Findings {
		if !listed[f.Law] {
			out = append(out, f)
		}
	}
	return out
}

// standing is how the run stands to its scenario's expectation, or how a recorded history was judged.
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

// Suite has a case for each law, and for each metric that the scenario names.
func (r *Run) Suite() document.Suite {
	if r.Recording != nil {
		return r.recordedSuite()
	}
	s := document.Suite{Name: "run " + r.Scenario, Verdict: r.words(), Headline: r.Headline(), Note: r.idle(),
		Repeat: r.Repeat}
	for i := range r.Expected {
		c := r.Expected[i].Case(r.Scenario)
		if c.Result == document.Failed {
			c.Story = r.Story(c.Name)
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// Story says why a law came out as it did, and how to see it again.
func (r *Run) Story(law string) string {
	var b strings.Builder
	for _, f := range r.Verdict.Findings {
		if string(f.Law) == law && f.Explanation != "" {
			b.WriteString(f.Explanation + "\n")
		}
	}
	fmt.Fprintf(&b, "seed %d\n%s\nagain: %s", r.Seed, strings.Join(r.Plan, "\n"), r.Repeat)
	return b.String()
}
