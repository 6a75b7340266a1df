// Package document is what commands report of their results: a Document is written once, by the package that made the
// result, and rendered as text, page, JSON, JUnit XML and the summary of a CI system's step.
//
// Goals: every result has every form, and ends with what to paste to see it again; no form says what another does not.
// Non-goals: what any one result means.
package document

// How what came out stands to what was expected.
const (
	AsExpected  = "as expected"
	NotPromised = "not promised"
	NotExpected = "not as expected"
)

// How a recorded history stands of which nothing is expected; else it is violated, or Undecided.
const (
	NoViolation   = "no violation"
	NothingJudged = "nothing judged"
	ViolatesLaw   = "violated"
)
