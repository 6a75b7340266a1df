// Package checker judges histories. Each law is a file: what it states, what it needs from the history, and how its
// cause is found. The checker knows nothing of the simulator; it reads a history of any system.
//
// Goals: true verdicts with witness, cause and a story in plain words; "holds" only where the law was exercised.
// Non-goals: running anything, drawing anything, guessing what a history does not carry.
package checker

import (
	"github.com/fencepost-sim/fencepost/checker/clockerror"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// Law names one of the seven laws.
type Law string

// The laws, in the order in which they are reported.
const (
	LeaseExclusion  Law = "lease-exclusion"
	MutualExclusion Law = "mutual-exclusion"
	ResourceSafety  Law = "resource-safety"
	Ownership       Law = "ownership"
	TokenOrder      Law = "token-order"
	DeadlockFreedom Law = "deadlock-freedom"
	FaultTolerance  Law = "fault-tolerance"
)

// Linearizability is the law of histories that tell of registers and of no lock: package checker/register judges it.
const Linearizability Law = "linearizability"

// A law's row: what it states, in one sentence without capital and full stop, what judges it, in a file of its own, and
// what says why the clocks leave it open.
type lawRow struct {
	law   Law
	says  string // README and reports take it from here
	judge func(*judge, *Finding)
	doubt func(t *trace.Trace, violated bool, at int) string
}

// lawTable are all laws in the order in which they are reported.
var lawTable = []lawRow{
	{LeaseExclusion, "granted validity windows of one lock never overlap in true time", (*judge).leaseExclusion,
		clockerror.Windows},
	{MutualExclusion, "critical sections of one lock never overlap", (*judge).mutualExclusion, clockerror.Sections},
	{ResourceSafety, "the protected resource accepts no effect of a superseded holder, and no update is lost",
		(*judge).resourceSafety, clockerror.Effects},
	{Ownership, "only its owner or its expiry removes or prolongs a lock", (*judge).ownership,
		clockerror.Records},
	{TokenOrder, "fencing tokens strictly increase in grant order", (*judge).tokenOrder, clockerror.Tokens},
	{DeadlockFreedom, "once faults end, nobody stays stuck", (*judge).deadlockFreedom, clockerror.Waits},
	{FaultTolerance, "while a quorum is up and reachable, an uncontended acquire and its release succeed within a " +
		"bound",
		(*judge).faultTolerance, clockerror.Bounds},
}

// Laws lists all laws in the order in which they are reported.
var Laws = lawNames(lawTable)

func lawNames(rows []lawRow) []Law {
	names := make([]Law, len(rows))
	for i := range rows {
		names[i] = rows[i].law
	}
	return names
}

// row is the law's; nil for what is no law.
func (l Law) row() *lawRow {
	for i := range lawTable {
		if lawTable[i].law == l {
			return &lawTable[i]
		}
	}
	return nil
}

// Says gives what the law states, in one sentence without capital and full stop; empty for what is no law.
func (l Law) Says() string {
	if row := l.row(); row != nil {
		return row.says
	} else if l == Linearizability {
		return "one order of the operations, each between its call and its return, explains all that was read"
	}
	return ""
}

// Outcome is what came of judging one law.
type Outcome uint8

// The zero Outcome is never a pass.
const (
	Unchecked Outcome = iota // the history lacks what the law judges
	Holds                    // the law was exercised and nothing broke it
	Undecided                // the run or the checker's budget ended before it could be told, or its clocks were off
	Violated
)

var outcomeNames = [...]string{"unchecked", "holds", "undecided", "violated"}

// String gives the word that scenario files and reports use.
func (o Outcome) String() string {
	if int(o) >= len(outcomeNames) {
		return "invalid outcome"
	}
	return outcomeNames[o]
}

// Cause is why a law was broken: a kind, and where the kind has variants, which one ("pause").
type Cause struct {
	Kind   CauseKind
	Detail string // empty where the kind has no variants
}

// String gives "kind" or "kind (detail)", as expectations in scenario files write it.
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
	Judges  Judges // of mutual-exclusion: who judged it
	// Cause, Remedy and Witness are set if and only if the law is violated. Lock and Holders say what it was about: the
	// holder and the one that came in, the stale and the newer writer, whoever removed a lock and its owner, the
	// waiter.
	Cause   Cause
	Remedy  string
	Lock    history.Lock
	Holders []history.Process
	// About is whose lease, key or delay the cause is: of a clash one of the Holders, of a waiter whoever blocks it.
	// Empty if it is of nobody alone.
	About   history.Process
	Witness []int // indexes of the events that show the violation, ascending
	// At is the index of the event with which the law was broken: what came later is no reason of it.
	At int
	// Faults are the indexes of the events at which the faults struck that the explanation names as reasons, ascending.
	Faults []int
	// Trials say what became of the violation without faults, the necessary ones first. Check leaves them empty.
	Trials []Trial
	// Explanation is one paragraph of plain words: the story of a violation, or what was missing for another outcome.
	// For a law that holds it says what was seen ("15 sections, none overlapped").
	Explanation string
}

// Came says how the law came out: "violated by CAUSE", with a note where one judge of two judged alone.
func (f *Finding) Came() string {
	came := f.Outcome.String()
	if f.Outcome == Violated {
		came += " by " + f.Cause.String()
	}
	if alone := f.Judges.Alone(); alone != "" && f.Outcome != Undecided {
		came += " (" + alone + ")"
	}
	return came
}

// Verdict holds one finding per law, in the order of Laws.
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

// Violated reports whether any law is violated.
func (v Verdict) Violated() bool {
	for _, f := range v.Findings {
		if f.Outcome == Violated {
			return true
		}
	}
	return false
}
