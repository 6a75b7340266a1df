// Package document is what the reports of all commands have in common: the forms in which a command gives its result
// (text, JSON, pages, metrics, what a CI system counts), what a reader's terminal can do, and how a report ends.
//
// Goals: every command is reported in the same forms, and ends with what to paste to see it again.
// Non-goals: what any one command says.
package document

import "io"

// Report is what a command says of its result.
type Report interface {
	// Text writes it for a person at a terminal. The error is w's.
	Text(w io.Writer, opt TextOptions) error
	// JSON gives it as one JSON object, ended by a newline, which keeps to the schema. Command is by
	// which it was called.
	JSON(command string) ([]byte, error)
}

// Judged is a report that a CI system counts.
type Judged interface {
	Report
	Suite() Suite
}

// Paged is a report that fills a web page.
type Paged interface {
	// Pages are the page with the given path, the last, and those that lie beside it, to which it leads.
	Pages(path string) []Page
}

// Measured is a report with metrics.
type Measured interface {
	// OpenMetrics gives them in the OpenMetrics text format (version 1.0.0).
	OpenMetrics() []byte
}

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
