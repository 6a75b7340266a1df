// Package slow reads the laws literally. It is the slow and obvious twin of package checker, for tests: both judge the
// same histories and must reach the same outcome, and name the same events.
//
// Goals: each law as its definition states it, in nested loops; nothing kept between two events. Non-goals: speed,
// stories, remedies; judging for users. It shares no code with package checker, not even its types.
package slow

import "github.com/fencepost-sim/fencepost/checker/history"

// The outcomes, as checker.Outcome prints them.
const (
	Unchecked = "unchecked"
	Holds     = "holds"
	Undecided = "undecided"
	Violated  = "violated"
)

// Finding is the literal reading's result on one law.
type Finding struct {
	Law     string
	Outcome string
	// Events are the indexes of the events that break the law together; nil unless it is violated.
	Events []int
	// Cause is why, as checker.Cause prints it; empty if the law is not violated or this reading does not determine
	// one.
	Cause string
	// Broken is the instant at which the law was broken; zero unless it is violated.
	Broken history.Time
	// Judged is how many windows, sections, writes, requests, tokens, locks or operations a law that holds has judged.
	Judged int
}

// Verdict has a finding for each law, in no order.
type Verdict []Finding

// Of returns the finding on a law; the zero Finding if there is none.
func (v Verdict) Of(law string) Finding {
	for _, f := range v {
		if f.Law == law {
			return f
		}
	}
	return Finding{}
}

// law is one law, and how it is read.
type law struct {
	name string
	read func(*reading) Finding
}

// laws lists all of them.
var laws []law

// register adds a law. It is called by the init function of the law's file.
func register(name string, read func(*reading) Finding) { laws = append(laws, law{name, read}) }

// Check reads every law.
func Check(h *history.History) Verdict {
	r := readingOf(h)
	all := make(Verdict, len(laws))
	for i := range laws {
		f := laws[i].read(r)
		f.Law = laws[i].name
		if f.Outcome != Violated {
			f.Events, f.Cause, f.Broken = nil, "", 0
		}
		for j, at := range f.Events {
			f.Events[j] = h.Events[at].Index
		}
		all[i] = f
	}
	return all
}
