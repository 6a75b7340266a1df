package format

// What a scenario expects of laws and metrics: read from its file, compared with the outcome of a run, and counted
// over many seeds. A law that is undecided or was not exercised does not pass.

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// All is everything that a scenario expects.
type All struct {
	Laws    map[checker.Law]Law
	Metrics []Bound
}

// Law is the outcome that a law must have. If Cause is set, the law must be broken by this cause.
type Law struct {
	Any     bool            // any outcome is accepted; the other fields are zero then
	Outcome checker.Outcome // Holds or Violated
	Cause   checker.Cause   // zero: any cause; without Detail: any detail
}

// Bound is a closed range in which a metric must lie.
type Bound struct {
	Name     string
	Min, Max float64 // in the unit of the metric; ±Inf where there is no limit
	Text     string  // as written
}

// Judgement is the outcome of a run, compared with the expectation of its scenario.
type Judgement struct {
	Verdict    checker.Verdict
	Metrics    checker.Metrics
	Mismatches []Mismatch
	Undecided  bool // a law named in the expectation is undecided
}

// Standing summarizes the judgement.
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
