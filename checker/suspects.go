package checker

import (
	"iter"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// Known is what trials have shown of the faults behind a violation, each given by the index of the event at which it
// struck.
type Known struct {
	Idle   []int // the violation occurs without them: its story names none of them
	Needed []int // it does not occur without them: its story names them if it knows no other reason
	Either bool  // each of the needed ones alone suffices
	Later  bool  // without a needed one, it still occurs by what strikes after it had been broken
}

// CheckKnowing explains a breach that Check found in h again, with what is known. Its cause may differ then.
func (c *Checker) CheckKnowing(h *history.History, breach *Finding, k Known) Finding {
	c.t.known, c.t.only = k, breach
	defer func() { c.t.known, c.t.only = Known{}, nil }()
	f := c.CheckOnly(h, []Law{breach.Law}).Findings[0]
	f.Further = nil
	return f
}

// neededStory names the faults that are known to be needed if the story has named none.
func (t *judge) neededStory() string {
	if len(t.Cited) > 0 || len(t.known.Needed) == 0 {
		return ""
	}
	var lines []string
	for f := range t.suspects() {
		if slices.Contains(t.known.Needed, t.History.Events[f.Start].Index) {
			lines = append(lines, `"`+t.Cite(f)+`"`)
		}
	}
	switch {
	case len(lines) == 0:
		return ""
	case t.known.Later && len(lines) == 1:
		return sentence(" Without %s, and without what strikes later, it does not come about.", lines[0])
	case t.known.Later:
		return sentence(" Without any one of %s, and without what strikes later, it does not come about.", list(lines))
	case len(lines) == 1:
		return sentence(" It does not come about without %s.", lines[0])
	case t.known.Either:
		return sentence(" It comes about with any of %s, and does not without all of them.", list(lines))
	}
	return sentence(" It comes about only with %s together.", list(lines))
}

// suspects yields them in the order in which they struck.
func (t *judge) suspects() iter.Seq[*trace.Fault] {
	return func(yield func(*trace.Fault) bool) {
		for i := range t.Faults {
			if f := &t.Faults[i]; t.suspected(f) && !yield(f) {
				return
			}
		}
	}
}

// suspected reports whether a fault may be a reason: all may, except those known not to be.
func (t *judge) suspected(f *trace.Fault) bool {
	return len(t.known.Idle) == 0 || !slices.Contains(t.known.Idle, t.History.Events[f.Start].Index)
}

// suspectsIn lists those that struck between two positions and match.
func (t *judge) suspectsIn(from, to int, matches func(*trace.Fault) bool) []*trace.Fault {
	return t.FaultsIn(from, to, func(f *trace.Fault) bool { return t.suspected(f) && matches(f) })
}

// lastSuspect is the latest that struck before position i and matches; nil if none does.
func (t *judge) lastSuspect(i int, matches func(*trace.Fault) bool) *trace.Fault {
	return t.LastFault(i, func(f *trace.Fault) bool { return t.suspected(f) && matches(f) })
}
