// Package reports shows what came of a run: as text with a timeline, as one self-contained HTML page, as JSON.
//
// Goals: the verdict comes first; one sees the critical section outlive its lease; every failure ends with its
// seed, its plan, its witness in words and one command to paste. The same run gives the same bytes.
// Non-goals: judging (checker), knowing how a run came about. A report is made from plain data, so a history of a
// real system can be shown as well as a simulated one.
package reports

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/timeline"
)

// Run is one run with all that a report says of it.
type Run struct {
	Scenario  string
	Summary   string // what the situation is, for a person who never read of it
	Source    string // the document that describes it
	Seed      uint64
	Digest    string
	Plan      []string // one fault a line
	Idle      []string // of each fault in Plan: why it could do nothing ("never struck"); empty if it could. nil: not known
	Expected  []ExpectLine
	OK        bool // every law and metric came out as expected
	Undecided bool // something named in the expectation could not be told; OK says nothing then
	Verdict   checker.Verdict
	History   *history.History // nil is an empty one
	Metrics   checker.Metrics
	Events    int           // of the simulation, messages and timers included; not only those of the history
	Simulated time.Duration // true time at the end of the run
	Files     string        // folder with plan, history and verdict; empty if they were not written
	Repeat    string        // command to paste that shows this run again
}

// ExpectLine compares one law or metric with what the scenario expects of it.
type ExpectLine struct {
	Name     string // of a law or of a metric
	Expected string // as the scenario says it: "holds", "violated by …", "not violated"
	Got      string
	OK       bool
}

// Many is a number of runs of one scenario, and those among them that are worth showing.
type Many struct {
	Scenario   string
	Summary    string
	Shard      string // "2/5"; empty if the seeds were not divided
	Seeds      int    // how many were run
	From       uint64 // the first seed
	Expected   int    // runs that came out as expected
	Unexpected int
	Undecided  int
	Digests    int           // distinct ones; far fewer than Seeds means that the runs hardly differ
	Laws       []ExploredLaw // how often each law came out how
	Faults     []PlannedFault
	Groups     []Group // what came out otherwise, most frequent first; a run may be in several
	Runs       []*Run  // worth showing; the text shows the first in full
	Sample     *Run    // one that came out as expected, for a page that has no other to show; may be nil
	Repeat     string  // command to paste that makes the same runs again
	// Interrupted is set if a signal came before all runs were made. Those that were not count as undecided.
	Interrupted bool
}

// PlannedFault is a fault of all of many runs.
type PlannedFault struct {
	Line        string
	Struck, Met int // in how many runs; Met: while a lock was asked for or held
}

// Group is a number of unexpected runs in which one thing came out otherwise, in one way.
type Group struct {
	Name     string // of a law or of a metric
	Expected string // as the scenario says it
	Got      string // empty for a metric, whose value differs from run to run
	Runs     int
	First    uint64 // the first seed
}

// Link leads from a report to another file, such as porcupine's own view of a law.
type Link struct {
	Text string
	Href string // relative to the report
}

// history returns the run's history, never nil.
func (r *Run) history() *history.History {
	if r.History == nil {
		return &history.History{}
	}
	return r.History
}

// lanes lays the run's history out.
func (r *Run) lanes() *timeline.Lanes { return timeline.Arrange(r.history(), r.Verdict.Findings) }

// expectation returns what was expected of the law or metric, or nil if nothing is known.
func (r *Run) expectation(name string) *ExpectLine {
	for i := range r.Expected {
		if r.Expected[i].Name == name {
			return &r.Expected[i]
		}
	}
	return nil
}

// findings returns one finding for each law, in the order of checker.Laws, then any of laws not listed there.
func (r *Run) findings() []checker.Finding {
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

// How a run, or many, stand to their scenario's expectation.
const (
	asExpected  = "as expected"
	notExpected = "not as expected"
	undecided   = "undecided"
)

// standing says in a word or two how the run stands to its scenario's expectation.
func (r *Run) standing() string {
	switch {
	case r.Undecided:
		return undecided
	case r.OK:
		return asExpected
	default:
		return notExpected
	}
}
