package doubt

import (
	"cmp"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// Records says why it is not known whose key a server's record changed: where several servers keep a key together, or a
// replica takes over, what stood there depends on the order of their records. At is the index of the record that broke
// the law.
func Records(t *trace.Trace, violated bool, at int) string {
	if violated {
		n, found := slices.BinarySearchFunc(t.History.Events, at,
			func(e history.Event, at int) int { return cmp.Compare(e.Index, at) })
		if found && t.History.Events[n].F != history.KeySet {
			return "" // the record itself says whose key it changed
		}
	}
	var list []*history.Event
	for _, at := range t.Keys {
		list = append(list, &t.History.Events[at])
	}
	for i := range t.Faults {
		if f := &t.Faults[i]; f.Does == history.Promotes {
			list = append(list, &t.History.Events[f.Start])
		}
	}
	slices.SortStableFunc(list, func(a, b *history.Event) int { return cmp.Compare(a.Time, b.Time) })
	last := make(map[history.Process]*history.Event) // by those who hold one copy between them
	var promoted *history.Event
	for _, e := range list {
		if e.Process == history.Nemesis {
			for _, o := range last {
				if int64(e.Time-o.Time) <= apart(t) {
					return recordsAre(t)
				}
			}
			promoted = e
			continue
		}
		unit := t.Unit(e.Process)
		o := last[unit]
		if o != nil && o.Process != e.Process && int64(e.Time-o.Time) <= apart(t) ||
			promoted != nil && int64(e.Time-promoted.Time) <= apart(t) {
			return recordsAre(t)
		}
		last[unit] = e
	}
	return ""
}

func recordsAre(t *trace.Trace) string {
	return "Servers that hold a key between them recorded changes of it at nearly the same time. " + because(t)
}

// Waits says why it is not known that somebody was stuck for too long, or that nobody was. It is known where for that
// long nobody did anything to a lock, and no fault struck or ended: then all stood still as it was recorded.
func Waits(t *trace.Trace, violated bool, _ int) string {
	h := &t.History.Header
	limit := h.TTL + h.Hold + h.Slack
	if violated && quietFor(t, limit) {
		return ""
	}
	return "Who waited for whom, and for how long, is told by the clocks of many processes, and they may be off by " +
		time.Duration(h.ClockError).String() + " each."
}

// quietFor reports whether the first waiter that was stuck for so long, and longer by what the clocks may be off, was
// so while nothing else happened.
func quietFor(t *trace.Trace, limit history.Time) bool {
	margin := history.Time(apart(t))
	s, found := t.FirstStuck(limit + 2*margin)
	if !found {
		return false
	}
	for i := range t.History.Events {
		e := &t.History.Events[i]
		inside := s.Since+margin < e.Time && e.Time < s.Until-margin
		switch e.F {
		case history.KeySet, history.KeyGone, history.KeyProlonged, history.KeyCopied, history.CopyGone, history.Apply,
			history.Read, history.Write, history.Woken:
			inside = inside && e.Process == history.Nemesis
		}
		if inside {
			return false
		}
	}
	return true
}

// Bounds says why it is not known whether an acquire or a release took too long while nothing was in its way: what was
// in its way is told by the clocks of many processes.
func Bounds(t *trace.Trace, _ bool, _ int) string {
	return "What was up and reachable when, is told by the clocks of many processes, and they may be off by " +
		time.Duration(t.History.Header.ClockError).String() + " each."
}
