package format

// What a scenario expects of laws and of metrics: read from its file, compared with what came out of a run, and counted
// over many seeds. What could not be decided, and what nothing exercised, is no pass.

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// All is what must come out.
type All struct {
	Laws    map[checker.Law]Law
	Metrics []Bound
}

// Law is the outcome one law must have; Cause, where the file gives one, must match too.
type Law struct {
	Any     bool            // whatever comes out is right; the other fields are zero then
	Outcome checker.Outcome // Holds or Violated
	Cause   checker.Cause   // zero: any. Without Detail: any detail
}

// Bound is a closed range in which a metric must lie.
type Bound struct {
	Name     string
	Min, Max float64 // in the metric's own unit; ±Inf where open
	Text     string  // as written
}

// Judgement is what a run comes to, held against what its scenario expects.
type Judgement struct {
	Verdict    checker.Verdict
	Metrics    checker.Metrics
	Mismatches []Mismatch
	Undecided  bool // a law named in the expectation could not be told
}

// Standing sums the judgement up.
func (j *Judgement) Standing() document.Result {
	switch {
	case len(j.Mismatches) > 0:
		return document.Failed
	case j.Undecided:
		return document.Undecided
	case len(j.Verdict.Findings) == 0:
		return document.NotJudged
	}
	return document.Passed
}
