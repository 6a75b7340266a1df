// Package document defines how commands report their results. A Document is built once, by the package that produced
// the result, and rendered as text, page, JSON, JUnit XML and as the summary of a step in a CI system.
//
// Goals: every result is available in every form, and ends with a command that shows it again; no form states something
// that another form omits. Non-goals: the meaning of any particular result.
package document

// How a result compares with what was expected.
const (
	AsExpected  = "as expected"
	NotPromised = "not promised"
	NotExpected = "not as expected"
)

// The result of judging a recorded history for which nothing is expected. It can also be undecided.
const (
	NoViolation   = "no violation"
	NothingJudged = "nothing judged"
	ViolatesLaw   = "violated"
)
