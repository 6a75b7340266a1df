package checker

import (
	"iter"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// Known contains what trials have shown about the faults behind a violation. It identifies each fault by the index of
// the event at which it struck.
type Known struct {
	Idle []int // the violation also occurs without these faults, so its explanation does not name them
	// the faults without which the violation does not occur; the explanation names them if it finds no other reason
	Needed []int
	Either bool // each of the needed faults alone is enough
	Later  bool // the violation still occurs without a needed fault, because of later faults
}

// CheckKnowing explains once more a breach that Check found in h. It takes the results of trials into account, so the
// cause may change.
func (c *Checker) CheckKnowing(h *history.History, breach *Finding, k Known) Finding {
	c.t.known, c.t.only = k, breach
	defer func() { c.t.known, c.t.only = Known{}, nil }()
	f := c.CheckOnly(h, []Law{breach.Law}).Findings[0]
	if same := f.By(breach.Cause); same != nil { // one event may break a law for two causes
		f = *same
	}
	f.Further = nil
	return f
}

// neededStory names the faults that the violation is known to need. It returns "" if the explanation already names a
// fault.
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
		return sentence(" The violation does not occur without %s and the later faults.", lines[0])
	case t.known.Later:
		return sentence(
			" The violation does not occur if any one of %s is removed together with the later faults.", list(lines))
	case len(lines) == 1:
		return sentence(" The violation does not occur without %s.", lines[0])
	case t.known.Either:
		return sentence(" The violation occurs with any one of %s, but not if all of them are removed.", list(lines))
	}
	return sentence(" The violation occurs only with %s together.", list(lines))
}

// suspects yields the suspected faults in the order in which they struck.
func (t *judge) suspects() iter.Seq[*trace.Fault] {
	return func(yield func(*trace.Fault) bool) {
		for i := range t.Faults {
			if f := &t.Faults[i]; t.suspected(f) && !yield(f) {
				return
			}
		}
	}
}

// suspected reports whether a fault may be a reason for the violation. Only faults known to be unnecessary are ruled
// out.
func (t *judge) suspected(f *trace.Fault) bool {
	return len(t.known.Idle) == 0 || !slices.Contains(t.known.Idle, t.History.Events[f.Start].Index)
}

// suspectsIn returns the suspected faults that struck between two positions and satisfy matches.
func (t *judge) suspectsIn(from, to int, matches func(*trace.Fault) bool) []*trace.Fault {
	return t.FaultsIn(from, to, func(f *trace.Fault) bool { return t.suspected(f) && matches(f) })
}

// lastSuspect returns the most recent suspected fault that struck before position i and satisfies matches, or nil if
// there is none.
func (t *judge) lastSuspect(i int, matches func(*trace.Fault) bool) *trace.Fault {
	return t.LastFault(i, func(f *trace.Fault) bool { return t.suspected(f) && matches(f) })
}
