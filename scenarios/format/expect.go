package format

// This file defines which law outcomes and metrics a scenario expects. The expectations are read from the scenario's
// file, compared with a run's outcome, and counted over many seeds. If a file expects a law to hold or to be violated,
// the run does not pass if that law is undecided or was not exercised.

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// All is everything that a scenario expects.
type All struct {
	Laws    map[checker.Law]Law
	Metrics []Bound
}

// Law is the expected outcome for a law. If Cause is set, the law must be violated, and the violation must have this
// cause.
type Law struct {
	Any     bool            // any outcome is accepted, and the other fields are zero
	Outcome checker.Outcome // Holds or Violated
	Cause   checker.Cause   // if zero, any cause is accepted; without Detail, any detail
}

// Bound is a closed range in which a metric must lie.
type Bound struct {
	Name     string
	Min, Max float64 // in the unit of the metric; ±Inf if there is no limit
	Text     string  // the bound, as written in the file
}

// Judgment is the result of comparing a run's outcome with its scenario's expectations.
type Judgment struct {
	Verdict    checker.Verdict
	Metrics    checker.Metrics
	Mismatches []Mismatch
	Undecided  bool // a law that the expectation names could not be judged (see All.Match)
}

// Standing returns the overall result of the judgment.
func (j *Judgment) Standing() document.Result {
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
