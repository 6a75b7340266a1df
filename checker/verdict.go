// Package checker judges histories. Each law has its own file, which says what the law demands, what it needs from a
// history, and how the cause of a violation is found. The checker does not depend on the simulator, so it can judge any
// system's histories.
//
// Goals: correct verdicts, each with a witness, a cause and an explanation in plain words. A law holds only if the
// history exercised it.
//
// Non-goals: running or drawing anything, and guessing at what a history does not contain.
package checker

import (
	"iter"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Outcome is the result of judging one law.
type Outcome uint8

// The possible outcomes. The zero Outcome never means that the law holds.
const (
	Unchecked Outcome = iota // the history lacks what the law needs, or does not exercise the law
	Holds                    // the law was exercised and nothing broke it
	Undecided                // the run or the checker's budget ended too early, or the clocks were inexact
	Violated
)

var outcomeNames = [...]string{"unchecked", "holds", "undecided", "violated"}

// String returns the word used in scenario files and reports.
func (o Outcome) String() string {
	if int(o) >= len(outcomeNames) {
		return "invalid outcome"
	}
	return outcomeNames[o]
}

// Cause says why a law was broken: a kind and, if the kind has variants, the variant (for example "pause").
type Cause struct {
	Kind   CauseKind
	Detail string // empty if the kind has no variants
}

// String returns "kind" or "kind (detail)", the format used for expectations in scenario files.
func (c Cause) String() string {
	if c.Detail == "" {
		return string(c.Kind)
	}
	return string(c.Kind) + " (" + c.Detail + ")"
}

// Finding is the verdict on one law.
type Finding struct {
	Law     Law
	Outcome Outcome
	Judges  Judges // only for mutual-exclusion
	// Cause, Remedy and Witness are set if and only if the law is violated. Lock is the lock involved. Holders are the
	// processes involved. The law determines which processes these are: for example, two clients that were inside at
	// the same time, the process that removed a lock and the lock's owner, or the waiter.
	Cause   Cause
	Remedy  string
	Lock    history.Lock
	Holders []history.Process
	// About is the process whose lease, key or delay is the cause: in a clash, one of the Holders, and for a waiter,
	// the process that is blocking it. It is empty if the cause does not concern a single process.
	About   history.Process
	Witness []int // indexes of the events that show the violation, ascending
	// At is the index of the event that broke the law. Later events did not contribute to the violation.
	At int
	// Unrecorded is set if the servers recorded that keys disappeared, but not why. The law is then unchecked, or the
	// cause of its violation is unknown.
	Unrecorded bool
	// Faults are the faults that the explanation blames. Each is identified by the index of the event at which it
	// struck. The indexes are in ascending order.
	Faults []int
	// Trials are runs without some of the faults, which show whether the violation still occurs. Trials that left out a
	// needed fault come first. Check leaves Trials empty.
	Trials []Trial
	// Explanation is one paragraph in plain words: how the violation came about, or what would have been needed for a
	// different verdict. If the law holds, it says what was examined ("15 sections, none overlapped").
	Explanation string
	// Further lists breaches of the law with causes other than Cause: for each such cause, the first breach in the
	// history. Each is a complete finding on the same law, but with an empty Further.
	Further []Finding
}

// Breaches yields the law's breaches, one for each cause: first the finding itself, then Further. It does not yield
// anything if the law is not violated.
func (f *Finding) Breaches() iter.Seq[*Finding] {
	return func(yield func(*Finding) bool) {
		if f.Outcome != Violated || !yield(f) {
			return
		}
		for i := range f.Further {
			if !yield(&f.Further[i]) {
				return
			}
		}
	}
}

// By returns the breach with the given cause, or nil if there is none.
func (f *Finding) By(c Cause) *Finding {
	for b := range f.Breaches() {
		if b.Cause == c {
			return b
		}
	}
	return nil
}

// Retain keeps only the breaches for which keep returns true, and reports whether any are left. If none are, it leaves
// the finding unchanged.
func (f *Finding) Retain(keep func(*Finding) bool) bool {
	var left []Finding
	for b := range f.Breaches() {
		if keep(b) {
			left = append(left, *b)
		}
	}
	if len(left) == 0 {
		return false
	}
	*f = left[0]
	f.Further = left[1:]
	return true
}

// Came returns the outcome with its causes: "violated by CAUSE, also by CAUSE". It adds a note if only one of the two
// judges reached an answer.
func (f *Finding) Came() string {
	came := f.Outcome.String()
	if f.Outcome == Violated {
		came += " by " + f.Cause.String() + f.Also()
	}
	if alone := f.Judges.Alone(); alone != "" && f.Outcome != Undecided {
		came += " (" + alone + ")"
	}
	return came
}

// Also returns the causes of the further breaches: ", also by CAUSE and by CAUSE". It returns "" if there are none.
func (f *Finding) Also() string {
	var causes []string
	for i := range f.Further {
		causes = append(causes, "by "+f.Further[i].Cause.String())
	}
	if len(causes) == 0 {
		return ""
	}
	return ", also " + list(causes)
}

// Verdict holds one finding per law, in Laws order or, from CheckOnly, in the order of its argument.
type Verdict struct {
	Findings []Finding
}

// Of returns the finding on one law.
func (v Verdict) Of(l Law) Finding {
	for _, f := range v.Findings {
		if f.Law == l {
			return f
		}
	}
	return Finding{Law: l}
}

// Breaches yields the breaches of all laws, law by law.
func (v Verdict) Breaches() iter.Seq[*Finding] {
	return func(yield func(*Finding) bool) {
		for i := range v.Findings {
			for b := range v.Findings[i].Breaches() {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// Violated reports whether any law is violated.
func (v Verdict) Violated() bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Outcome == Violated })
}
