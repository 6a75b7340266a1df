// Package headline summarizes a verdict in one sentence. It is the first thing that a reader sees, before the picture
// and the laws.
//
// Goals: the sentence is true for every history that can be checked; if several laws are violated, it is about the most
// important one; names and durations come from the history itself. Non-goals: the full explanation, which is in the
// findings, and the comparison with what was expected.
package headline

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Gravest returns the violation that the headline is about, or nil if no law was violated.
func Gravest(v checker.Verdict) (gravest *checker.Finding) {
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Outcome == checker.Violated &&
			(gravest == nil || f.Law.Gravity() < gravest.Law.Gravity()) {
			gravest = f
		}
	}
	return gravest
}

// Of returns the sentence for the verdict on a history.
func Of(h *history.History, v checker.Verdict) string {
	if f := Gravest(v); f != nil {
		return Broken(h, f)
	}
	return calm(h, v)
}

// Broken returns the sentence for one violated law.
func Broken(h *history.History, f *checker.Finding) string {
	s := story{h, f}
	words := ""
	switch f.Law {
	case checker.MutualExclusion:
		words = withReason(s.inside(), s.reason())
	case checker.LeaseExclusion:
		words = withReason(s.sameSituation("was", "were", "promised "+s.lock()), s.reason())
	case checker.ResourceSafety:
		words = s.data()
	case checker.Ownership:
		words = s.owner()
	case checker.TokenOrder:
		words = s.token()
	case checker.DeadlockFreedom:
		words = withReason(s.process(0, "somebody")+" waited too long for "+s.lock(), s.blocked())
	case checker.FaultTolerance:
		words = s.slow()
	case checker.Fairness:
		words = s.order()
	case checker.Linearizability:
		words = fmt.Sprintf("no order of the operations can explain what %s was told", s.process(0, "somebody"))
	}
	if words == "" {
		words = fmt.Sprintf("%s is broken: %s", f.Law, f.Cause)
	}
	return text.Sentence(words)
}

// withReason joins a description of what happened with the reason for it. It returns "" if either is empty.
func withReason(what, why string) string {
	if what == "" || why == "" {
		return ""
	}
	return what + ": " + why
}

// calm returns the sentence for a verdict without a violation.
func calm(h *history.History, v checker.Verdict) string {
	var open []string
	held := 0
	for _, f := range v.Findings {
		switch f.Outcome {
		case checker.Undecided:
			open = append(open, string(f.Law))
		case checker.Holds:
			held++
		}
	}
	mutual := v.Of(checker.MutualExclusion).Outcome
	switch {
	case v.Of(checker.Linearizability).Outcome == checker.Holds:
		return "Some order of the operations explains everything that was read."
	case len(open) > 0 && mutual == checker.Holds:
		return exclusionHeld(h) + "; " + text.Join(open, " and ") + " could not be decided."
	case len(open) > 0:
		return "No violation was found; " + text.Join(open, " and ") + " could not be decided."
	case mutual == checker.Holds && held == 2:
		return exclusionHeld(h) + "; 1 other law was checked and held."
	case mutual == checker.Holds && held > 2:
		return fmt.Sprintf("%s; %d other laws were checked and held.", exclusionHeld(h), held-1)
	case mutual == checker.Holds:
		return exclusionHeld(h) + "; no other law was checked."
	case held > 0:
		return "No law was broken, but mutual exclusion was not checked."
	}
	return "Nothing was checked."
}

// exclusionHeld returns the sentence for a run in which mutual exclusion held.
func exclusionHeld(h *history.History) string {
	where, aside := "inside", ""
	if len(h.Header.Locks) > 1 {
		where = "inside one lock"
	}
	if slices.ContainsFunc(h.Events,
		func(e history.Event) bool { return e.F == history.Acquire && e.Type == history.OK && e.Shared }) {
		aside = ", readers aside"
	}
	if n := h.Header.Permits; n > 1 {
		return fmt.Sprintf("No more than %d clients were ever %s at once", n, where)
	}
	return fmt.Sprintf("No two clients were ever %s at once%s", where, aside)
}
