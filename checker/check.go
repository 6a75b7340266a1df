package checker

import (
	"cmp"
	"sync"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/linear"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// Checker judges one history after another and reuses its memory. The zero Checker is ready for use. Two goroutines
// must not use the same Checker at once.
type Checker struct{ t judge }

// Check judges all laws on h. It ignores what the header says about how to read h; package reading takes that into
// account. Check never changes h, and the verdict keeps no reference to the Checker.
func (c *Checker) Check(h *history.History) Verdict { return c.CheckOnly(h, Laws) }

// Trace returns the trace of the last history that the Checker judged, which must be h. The trace is valid until the
// Checker judges another history.
func (c *Checker) Trace(h *history.History) *trace.Trace {
	c.t.History = h
	return &c.t.Trace
}

// CheckOnly is like Check, but judges only the given laws. The verdict has one finding for each law, in the given
// order.
func (c *Checker) CheckOnly(h *history.History, laws []Law) Verdict {
	c.t.Read(h)
	v := c.judge(laws)
	c.t.History = nil
	return v
}

// judge applies the laws to the history that was read last.
func (c *Checker) judge(laws []Law) Verdict {
	t := &c.t
	t.Windows()
	t.Sections()
	v := Verdict{Findings: make([]Finding, len(laws))}
	for i, law := range laws {
		f := &v.Findings[i]
		f.Law = law
		if row := law.row(); row.judge != nil {
			row.judge(t, f)
			if t.History.Header.ClockError > 0 {
				t.leaveOpen(row, f)
			}
		}
	}
	return v
}

// leaveOpen makes a finding undecided if its outcome depends on the clock errors: either the law may hold only because
// the clocks are assumed to be exact, or every breach depends on the clock errors. If only some breaches do, leaveOpen
// removes those.
func (t *judge) leaveOpen(row *lawRow, f *Finding) {
	why := ""
	certain := func(f *Finding) bool {
		open := row.leftOpen(&t.Trace, f)
		why = cmp.Or(why, open)
		return open == ""
	}
	if f.Outcome == Violated && !f.Retain(certain) || f.Outcome == Holds && !certain(f) {
		*f = Finding{Law: f.Law, Outcome: Undecided, Judges: f.Judges.open(), Explanation: why}
	}
}

// CheckAndMeasure returns the results of Check and Measure. On a long history it costs little more than one of them.
func CheckAndMeasure(h *history.History) (Verdict, Metrics) {
	var c Checker
	c.t.Read(h)
	return c.judge(Laws), c.t.measure()
}

var checkers = sync.Pool{New: func() any { return new(Checker) }}

// Check judges all laws on h. It never changes h. It is safe for concurrent use.
func Check(h *history.History) Verdict {
	c := checkers.Get().(*Checker)
	defer checkers.Put(c)
	return c.Check(h)
}

// judge holds the data on which the laws are judged: a history, its trace, and intermediate results. In this package's
// comments, a position is the index of an event in the history.
type judge struct {
	trace.Trace
	mutexOps []linear.MutexOp                     // operations on the lock that is being judged
	parts    linear.Parts                         // the parts of a lock's operations that are passed to porcupine
	answers  []Judges                             // answers of both judges for each lock, by the index of the lock
	instead  func([]linear.MutexOp) linear.Answer // in tests, called instead of porcupine
	known    Known                                // facts about faults that trials have shown
	only     *Finding                             // the breach to be explained; nil: all breaches
	facts    facts                                // facts about the violation that is being explained
}
