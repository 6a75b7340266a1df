package checker

import (
	"iter"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// The suspects of a violation are the faults that its story may name as reasons: all, but for those that are known to
// be none, because the violation came about without them too.

// CheckSparing judges one law on h, as Check does, but its story names none of the faults that struck at the given
// indexes.
func (c *Checker) CheckSparing(h *history.History, law Law, spared []int) Finding {
	c.t.spared = spared
	defer func() { c.t.spared = nil }()
	return c.CheckOnly(h, []Law{law}).Findings[0]
}

// suspects are in the order in which they struck.
func (t *judge) suspects() iter.Seq[*trace.Fault] {
	return func(yield func(*trace.Fault) bool) {
		for i := range t.Faults {
			if f := &t.Faults[i]; t.suspected(f) && !yield(f) {
				return
			}
		}
	}
}

func (t *judge) suspected(f *trace.Fault) bool {
	return len(t.spared) == 0 || !slices.Contains(t.spared, t.History.Events[f.Start].Index)
}

// suspectsIn lists those that struck between two positions and match.
func (t *judge) suspectsIn(from, to int, matches func(*trace.Fault) bool) []*trace.Fault {
	return t.FaultsIn(from, to, func(f *trace.Fault) bool { return t.suspected(f) && matches(f) })
}

// lastSuspect is the latest, struck before position i, that matches; nil if none does.
func (t *judge) lastSuspect(i int, matches func(*trace.Fault) bool) *trace.Fault {
	return t.LastFault(i, func(f *trace.Fault) bool { return t.suspected(f) && matches(f) })
}
