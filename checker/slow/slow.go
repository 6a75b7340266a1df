// Package slow applies the definitions of the laws literally. Tests compare it with package checker: both check the
// same histories, and must reach the same outcomes and name the same events.
//
// Goals: each law is implemented exactly as it is defined, in nested loops that carry as little state as possible from
// one event to the next. The package shares no code with package checker, not even types.
//
// Non-goals: speed, explanations, remedies, and any use outside of tests.
package slow

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// The possible outcomes for a law, as checker.Outcome prints them.
const (
	Unchecked = "unchecked"
	Holds     = "holds"
	Undecided = "undecided"
	Violated  = "violated"
)

// Finding is the result for one law.
type Finding struct {
	Law     string
	Outcome string
	// Breaches lists all violations of the law, in the order in which package checker reports them. It is empty unless
	// the law is violated.
	Breaches []Breach
	// If the law holds, Judged is how many windows, sections, writes, requests, tokens, locks or operations were
	// checked.
	Judged int
}

// Breach is a single violation of a law.
type Breach struct {
	// Events are the indexes of the events that together violate the law.
	Events []int
	// Cause is the reason, as checker.Cause prints it. It may be only the beginning of that text, because this package
	// does not distinguish all causes.
	Cause string
	// Broken is the instant at which the law was violated.
	Broken history.Time
}

// Reported is a violation as reported by package checker: its cause, the indexes of the events that show it, and the
// index of the event that violated the law.
type Reported struct {
	Cause   string
	Witness []int
	At      int
}

// Shown returns the breach that matches a reported one, or the zero Breach if there is none. The same events may show
// several breaches, for example if one client was stuck twice. In that case, Shown returns the one that occurred at the
// reported event or, failing that, the first.
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

// lastBy returns the index of the last event that happened at time t or earlier, or -1 if there is none.
func lastBy(h *history.History, t history.Time) int {
	last := -1
	for i := range h.Events {
		if h.Events[i].Time <= t {
			last = i
		}
	}
	return last
}

// undetermined lists the beginnings of those causes that this package cannot determine completely.
var undetermined = []string{"", "stuck", "holder outlived its lease"}

// isBy reports whether a reported cause agrees with b's cause. Usually, they must be equal. If this package determines
// only the beginning of the cause, the reported cause must begin with it.
func (b Breach) isBy(cause string) bool {
	return cause == b.Cause || slices.Contains(undetermined, b.Cause) && strings.HasPrefix(cause, b.Cause)
}

// shownBy reports whether a reported breach's witness contains all events of b.
func (b Breach) shownBy(r Reported) bool {
	return !slices.ContainsFunc(b.Events, func(at int) bool { return !slices.Contains(r.Witness, at) })
}

// Differs describes how the outcome and the reported breaches differ from the finding, or returns "" if they agree.
// Package checker reports only the first breach for each cause, so the list of reported breaches may be shorter than
// f.Breaches.
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

// Verdict is a list of findings, one for each law, in no particular order.
type Verdict []Finding

// Of returns the finding on a law, or the zero Finding if there is none.
func (v Verdict) Of(law string) Finding {
	for _, f := range v {
		if f.Law == law {
			return f
		}
	}
	return Finding{}
}

// law pairs a law's name with the function that checks it.
type law struct {
	name string
	read func(*reading) Finding
}

var laws []law

// register adds a law. It is called by the init function in the law's file.
func register(name string, read func(*reading) Finding) { laws = append(laws, law{name, read}) }

// Check checks a history against every law.
func Check(h *history.History) Verdict {
	r := readingOf(h)
	all := make(Verdict, len(laws))
	for i := range laws {
		all[i] = laws[i].finding(r)
	}
	return all
}

// Of checks a history against the law with the given name, which must be registered.
func Of(h *history.History, name string) Finding {
	i := slices.IndexFunc(laws, func(l law) bool { return l.name == name })
	return laws[i].finding(readingOf(h))
}

// finding applies the law to r. The result identifies events by their indexes in the history.
func (l law) finding(r *reading) Finding {
	f := l.read(r)
	f.Law = l.name
	if len(f.Breaches) > 0 {
		f.Outcome, f.Judged = Violated, 0
	}
	for _, b := range f.Breaches {
		for j, at := range b.Events {
			b.Events[j] = r.Events[at].Index
		}
	}
	return f
}
