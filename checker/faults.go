package checker

import (
	"github.com/fencepost-sim/fencepost/checker/history"
)

// fault is one fault as it struck and ended.
type fault struct {
	history.Fault
	kind history.F
	line string // as the plan states it
	from int
	to   int // open if its end was not recorded
}

// fault notes a strike, or the end of the oldest fault of the same line that goes on.
func (t *trace) fault(i int, e *history.Event) {
	switch e.Type {
	case history.Invoke:
		f := fault{kind: e.F, line: e.Value, from: i, to: open}
		if e.Fault != nil {
			f.Fault = *e.Fault
		}
		if f.line == "" {
			f.line = string(e.F)
		}
		t.faults = append(t.faults, f)
	case history.OK:
		for n := range t.faults {
			f := &t.faults[n]
			if f.to == open && t.h.Events[f.from].F == e.F && (f.line == e.Value || e.Value == "") {
				f.to = i
				return
			}
		}
	}
}

// over is the position at which the fault is over: its end, or its beginning if it has no length or is for good. A crash
// without restart leaves a smaller system, not a fault under way.
func (f *fault) over() int {
	if f.to == open && !f.Ends && !f.kind.Lasts() {
		return f.from
	}
	return f.to
}

// mended is the position at which what f took away is back: of a crash the restart, open if there is none; of others
// their end. A member of one service that has lost everything is none any more: a stranger of its name may not vote.
func (t *trace) mended(f *fault) int {
	switch {
	case f.Loses == history.LosesEverything && oneService(&t.h.Header):
		return open
	case f.kind.IsDown():
		return f.to
	}
	return f.over()
}

// cite gives the line of a fault for a story that names it as a reason, and notes that it was named.
func (t *trace) cite(f *fault) string {
	t.cited = append(t.cited, f.from)
	return f.line
}

// overlaps reports whether f was on at some moment after time from and before position to.
func (t *trace) overlaps(f *fault, from history.Time, to int) bool {
	return f.from < to && (f.over() == open || t.time(f.over()) >= from)
}

// faultsIn lists the faults that struck between two positions and match.
func (t *trace) faultsIn(from, to int, matches func(*fault) bool) []*fault {
	var list []*fault
	for i := range t.faults {
		if f := &t.faults[i]; from < f.from && f.from < to && matches(f) {
			list = append(list, f)
		}
	}
	return list
}

// lastFault returns the latest fault, struck before position i, that matches.
func (t *trace) lastFault(i int, matches func(*fault) bool) *fault {
	for n := len(t.faults) - 1; n >= 0; n-- {
		if f := &t.faults[n]; f.from < i && matches(f) {
			return f
		}
	}
	return nil
}
