// Package slow reads the laws literally. It is the slow and obvious twin of package checker, for tests: both judge the
// same histories and must come to the same outcome, and name the same events.
//
// Goals: each law in the words of its definition, one loop inside the other; nothing kept between two looks.
// Non-goals: speed, stories, remedies; judging for users. It shares no code with package checker, not even its types.
package slow

import "github.com/fencepost-sim/fencepost/checker/history"

// The outcomes, as checker.Outcome prints them.
const (
	Unchecked = "unchecked"
	Holds     = "holds"
	Undecided = "undecided"
	Violated  = "violated"
)

// Finding is what the literal reading says about one law.
type Finding struct {
	Law     string
	Outcome string
	// Events are the indexes of the events that break the law together; nil unless it is violated.
	Events []int
	// Cause is why, as checker.Cause prints it; empty if the law is not violated or this reading does not look for one.
	Cause string
	// Broken is the instant at which the law was broken; zero unless it is violated.
	Broken history.Time
	// Judged is how many windows, sections, writes, requests, tokens, locks or operations a law that holds has judged.
	Judged int
}

// Check reads every law, in the order in which package checker reports them.
func Check(h *history.History) []Finding {
	r := readingOf(h)
	all := []Finding{r.leaseExclusion(), r.mutualExclusion(), r.resourceSafety(), r.ownership(), r.tokenOrder(),
		r.deadlockFreedom(), r.faultTolerance()}
	for i, law := range []string{"lease-exclusion", "mutual-exclusion", "resource-safety", "ownership", "token-order",
		"deadlock-freedom", "fault-tolerance"} {
		all[i].Law = law
		if all[i].Outcome != Violated {
			all[i].Events, all[i].Cause, all[i].Broken = nil, "", 0
		}
		for j, at := range all[i].Events {
			all[i].Events[j] = h.Events[at].Index
		}
	}
	return all
}
