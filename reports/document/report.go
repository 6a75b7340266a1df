// Package document defines how commands report their results. A Document is built once, by the package that produced
// the result. It is rendered as text, as a page, as JSON, as JUnit XML and as a CI step summary.
//
// Goals: every result is available in every output format and ends with a command that shows it again; no format leaves
// out a fact that another format states. Non-goals: the meaning of any particular result.
package document

// How a result compares with what was expected.
const (
	AsExpected  = "as expected"
	NotPromised = "not promised"
	NotExpected = "not as expected"
)

// Results of checking a recorded history that has no expectation. The result can also be undecided.
const (
	NoViolation   = "no violation"
	NothingJudged = "nothing judged"
	ViolatesLaw   = "violated"
)
