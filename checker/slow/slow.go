// Package slow reads the laws literally. It is the slow and obvious twin of package checker, for tests: both judge the
// same histories and must reach the same outcome, and name the same events.
//
// Goals: each law as its definition states it, in nested loops; nothing kept between two events. Non-goals: speed,
// stories, remedies; judging for users. It shares no code with package checker, not even its types.
package slow

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

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
	// Breaches are all that break the law, in the order of the history; none unless it is violated.
	Breaches []Breach
	// Judged is how many windows, sections, writes, requests, tokens, locks or operations a law that holds has judged.
	Judged int
}

// Breach is one way in which a law is broken.
type Breach struct {
	// Events are the indexes of the events that break the law together.
	Events []int
	// Cause is why, as checker.Cause prints it, or begins to: this reading does not tell all causes apart.
	Cause string
	// Broken is the instant at which the law was broken.
	Broken history.Time
}

// Reported is a breach as another reading of the law reports it: its cause, the indexes of the events that show it, and
// the index of the one with which the law was broken.
type Reported struct {
	Cause   string
	Witness []int
	At      int
}

// Shown returns the breach that a report of another reading is about; the zero Breach if there is none. Of several that
// the same events show, as when one client was stuck twice, it is the one that was broken at the event reported, or the
// first.
func (f Finding) Shown(h *history.History, r Reported) Breach {
	others := func(b Breach) bool { return !b.shownBy(r) || !b.isBy(r.Cause) }
	shown := slices.DeleteFunc(slices.Clone(f.Breaches), others)
	at := func(b Breach) bool { return lastBy(h, b.Broken) == r.At }
	switch i := slices.IndexFunc(shown, at); {
	case i >= 0:
		return shown[i]
	case len(shown) > 0:
		return shown[0]
	}
	return Breach{}
}

// lastBy is the index of the last event by a time, -1 if there is none.
func lastBy(h *history.History, t history.Time) int {
	last := -1
	for i := range h.Events {
		if h.Events[i].Time <= t {
			last = i
		}
	}
	return last
}

// undetermined are the beginnings of causes that this reading does not tell apart any further.
var undetermined = []string{"", "stuck", "holder outlived its lease"}

// isBy reports whether a cause is that of a breach, as far as this reading determines it.
func (b Breach) isBy(cause string) bool {
	return cause == b.Cause || slices.Contains(undetermined, b.Cause) && strings.HasPrefix(cause, b.Cause)
}

// shownBy reports whether the witness of a report contains all events of a breach.
func (b Breach) shownBy(r Reported) bool {
	return !slices.ContainsFunc(b.Events, func(at int) bool { return !slices.Contains(r.Witness, at) })
}

// Differs describes how another reading of the law differs, which reports one breach for each cause: the first. It is
// empty if the two agree.
func (f Finding) Differs(outcome string, reported []Reported) string {
	if outcome != f.Outcome {
		return "outcome"
	}
	matched := 0
	for _, b := range f.Breaches {
		isBy := func(r Reported) bool { return b.isBy(r.Cause) }
		switch before := slices.ContainsFunc(reported[:matched], isBy); {
		case matched < len(reported) && isBy(reported[matched]) && b.shownBy(reported[matched]) &&
			!slices.ContainsFunc(reported[:matched], func(r Reported) bool { return r.Cause == b.Cause }):
			matched++
		case before:
		case matched < len(reported) && isBy(reported[matched]):
			return "witness"
		default:
			return "cause"
		}
	}
	if matched < len(reported) {
		return "causes"
	}
	return ""
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
		if len(f.Breaches) > 0 {
			f.Outcome, f.Judged = Violated, 0
		}
		for _, b := range f.Breaches {
			for j, at := range b.Events {
				b.Events[j] = h.Events[at].Index
			}
		}
		all[i] = f
	}
	return all
}
