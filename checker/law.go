package checker

import (
	"cmp"
	"math"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/trace"
)

// Law names a law.
type Law string

// Linearizability is the law for histories with registers and without locks. Package checker/register judges it.
const Linearizability Law = "linearizability"

// Laws lists all lock laws in reporting order.
var Laws []Law

// lawRow holds what other files need to know about a law. The file that judges the law registers it.
type lawRow struct {
	law     Law
	place   int      // position in the order in which the laws are reported, counted from 1
	gravity int      // rank by severity, counted from 1: harm to the user's data ranks before the events that led to it
	kept    LockKind // kinds of locks that must keep the law under all faults that they can survive
	atEnd   bool     // whether the law can be known to hold only after everything in the history has ended
	says    string   // the law's statement, as a lower-case sentence without a period
	broken  string   // what happens when the law is broken, in the same form
	judge   func(*judge, *Finding)
	// uncertain explains why inexact clocks make the law undecided, or returns "" if it can be decided. If uncertain is
	// nil, inexact clocks always make the law undecided.
	uncertain func(t *trace.Trace, violated bool, at int) string
}

// LockKind is a set of kinds of locks. The kinds differ in the laws that their locks can uphold.
type LockKind uint8

// Kinds of locks.
const (
	Leased    LockKind = 1 << iota // locks with a lease whose holder checks how long it lasts
	Fenced                         // locks with tokens that the resource compares
	Efficient                      // locks that only save work and protect nothing
	anyLock   = Leased | Fenced | Efficient
)

// lawTable holds each law's row, in reporting order.
var lawTable []lawRow

// register adds a law. It is called by the init function in the law's file.
func register(row lawRow) {
	lawTable = append(slices.Clone(lawTable), row)
	slices.SortFunc(lawTable, func(a, b lawRow) int { return cmp.Compare(a.place, b.place) })
	Laws = LawsKeptBy(0)
}

// LawsKeptBy returns the laws that all the given kinds of locks can uphold, in reporting order.
func LawsKeptBy(kinds LockKind) (laws []Law) {
	for i := range lawTable {
		if lawTable[i].kept&kinds == kinds {
			laws = append(laws, lawTable[i].law)
		}
	}
	return laws
}

// row returns the law's row. If l is not a lock law, it returns a row that is empty and comes last in gravity.
func (l Law) row() *lawRow {
	for i := range lawTable {
		if lawTable[i].law == l {
			return &lawTable[i]
		}
	}
	return &lawRow{gravity: math.MaxInt}
}

// leftOpen explains why inexact clocks make the law undecided. It returns "" if the law can be decided.
func (row *lawRow) leftOpen(t *trace.Trace, f *Finding) string {
	if row.uncertain == nil {
		return "The clocks were not exact, and this law is not defined for such histories."
	}
	return row.uncertain(t, f.Outcome == Violated, f.At)
}

// Says returns the law's statement, as a lower-case sentence without a period, or "" if l is not a law.
func (l Law) Says() string {
	if l == Linearizability {
		return "some order of the operations, each between its call and its return, explains everything that was read"
	}
	return l.row().says
}

// Broken returns what happens when the law is broken, as a lower-case sentence without a period.
func (l Law) Broken() string { return cmp.Or(l.row().broken, string(l)+" is violated") }

// Gravity orders laws by how serious a violation is, most serious first.
func (l Law) Gravity() int { return l.row().gravity }

// AtEnd reports whether the law can be shown to hold only after everything in a history has ended.
func (l Law) AtEnd() bool { return l.row().atEnd }

// Promise describes what a lock must guarantee, whatever faults occur.
type Promise struct {
	Laws []Law
	// Availability extends the deadlock-freedom promise to runs in which too many servers are lost permanently for a
	// quorum to remain. No lock can make progress in such a run, but a user can prevent it by adding servers.
	// Therefore, this extension must be requested explicitly.
	Availability bool
}

// Availability is the name of the Promise.Availability field in scenario files and reports.
const Availability = "availability"

// These texts follow "is broken" in a report. Excuse says why the violation does not break the promise, and how a
// scenario file can demand more. ExcuseUnless omits the second part.
const (
	Excuse       = ExcuseUnless + "promise lists " + Availability
	ExcuseUnless = "after the servers had lost their quorum for good; " +
		"no lock helps in that case, so this breaks no promise unless "
)

// Covers reports whether the promise is broken if law l is violated with cause c.
func (p Promise) Covers(l Law, c Cause) bool { return slices.Contains(p.Laws, l) && !p.Excuses(c) }

// BrokenBy returns the first breach in a finding that breaks the promise, or nil if there is none.
func (p Promise) BrokenBy(f *Finding) *Finding {
	for b := range f.Breaches() {
		if p.Covers(b.Law, b.Cause) {
			return b
		}
	}
	return nil
}

// ExcusesAll reports whether a law is violated but all its violations are excused (see Excuses).
func (p Promise) ExcusesAll(f *Finding) bool {
	for b := range f.Breaches() {
		if !p.Excuses(b.Cause) {
			return false
		}
	}
	return f.Outcome == Violated
}

// Excuses reports whether a violation with the given cause leaves the promise unbroken, no matter which law is
// violated.
func (p Promise) Excuses(c Cause) bool { return c.Kind == NoQuorumLeft && !p.Availability }
