package format

// What a scenario expects of laws and metrics: read from its file, compared with the outcome of a run, and counted over
// many seeds. What is undecided or not exercised is no pass.

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// All is all that a scenario expects.
type All struct {
	Laws    map[checker.Law]Law
	Metrics []Bound
}

// Law is the outcome one law must have; Cause, if the file gives one, must match too.
type Law struct {
	Any     bool            // any outcome is right; the other fields are zero then
	Outcome checker.Outcome // Holds or Violated
	Cause   checker.Cause   // zero: any. Without Detail: any detail
}

// Bound is a closed range in which a metric must lie.
type Bound struct {
	Name     string
	Min, Max float64 // in the metric's own unit; ±Inf where open
	Text     string  // as written
}

// Judgement is the outcome of a run, compared with what its scenario expects.
type Judgement struct {
	Verdict    checker.Verdict
	Metrics    checker.Metrics
	Mismatches []Mismatch
	Undecided  bool // a law named in the expectation is undecided
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
