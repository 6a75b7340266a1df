package clockerror

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// Records explains why it is uncertain who owned a key when a server recorded a change to it. It returns "" if this is
// certain. There are three reasons for uncertainty. First, if several servers share a key, or if a replica takes over,
// the owner depends on the order of the servers' records. Second, whether a hold has ended depends on the holder's
// clock. Third, a server's record may end before that of another server that stores the same keys. If violated is true,
// the law was violated by the record with the index at.
func Records(t *trace.Trace, violated bool, at int) string {
	if text := holdsEnd(t, violated, at); text != "" {
		return text
	}
	if violated {
		n, found := slices.BinarySearchFunc(t.History.Events, at,
			func(e history.Event, at int) int { return cmp.Compare(e.Index, at) })
		if found && t.History.Events[n].F != history.KeySet {
			return "" // the record itself states who owned the key
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
	seen := make(map[history.Process]*lastTimes) // one entry for each group of servers that share one copy
	ended := make(map[history.Process][]moment)
	for _, p := range slices.Sorted(maps.Keys(t.History.Header.Seen)) {
		ended[t.Unit(p)] = append(ended[t.Unit(p)], moment{p, t.History.Header.Seen[p]})
	}
	var all, promoted lastTimes
	for _, e := range list {
		early, late := e.Time-off(t, e.Process), e.Time+off(t, e.Process)
		if e.Process == history.Nemesis {
			if p, at := all.ofOthers(""); early <= at {
				return recordsAre(t, p, e.Process)
			}
			promoted.add(e.Process, late)
			continue
		}
		unit := t.Unit(e.Process)
		if seen[unit] == nil {
			seen[unit] = new(lastTimes)
		}
		for _, of := range []*lastTimes{seen[unit], &promoted} {
			if p, at := of.ofOthers(e.Process); early <= at {
				return recordsAre(t, p, e.Process)
			}
		}
		for _, m := range ended[unit] {
			if m.at < t.History.Header.Seen[e.Process] && late >= m.at-off(t, m.process) {
				return fmt.Sprintf(
					"%s was recorded until %v, and %s, which stores the same keys, recorded a change at %v; "+
						"what changed in between is not known.", m.process, m.at, e.Process, e.Time)
			}
		}
		seen[unit].add(e.Process, late)
		all.add(e.Process, late)
	}
	return ""
}

// holdsEnd looks for a change that another attempt made to a holder's key after checking the key's owner. It explains
// why it is uncertain whether the hold had ended by then. If violated is set, only the event with index at counts.
// holdsEnd returns "" if there is no such change.
func holdsEnd(t *trace.Trace, violated bool, at int) string {
	for c := range t.Changes {
		e := &t.History.Events[c.At]
		if t.LooksAtOwner(c) && c.By != c.Owner && (!violated || e.Index == at) {
			return fmt.Sprintf("Another attempt changed the key of %s at %v, "+
				"and it is not certain whether the hold of %[1]s had ended by then. ",
				c.Owner, e.Time) + clockReason(t, e.Process, t.ProcessOf(e.Lock, c.Owner))
		}
	}
	return ""
}

func recordsAre(t *trace.Trace, p, q history.Process) string {
	return "Servers that share a key recorded changes to it at nearly the same time. " + clockReason(t, p, q)
}

// Waits explains why it is uncertain whether anybody was stuck for too long. It returns "" only if the law was violated
// and clock errors make no difference: while the waiter was stuck, nobody did anything with a lock, no fault struck or
// ended, and all processes were recorded.
func Waits(t *trace.Trace, violated bool, _ int) string {
	h := &t.History.Header
	limit := h.TTL + h.Hold + h.Slack
	if violated && quietFor(t, limit) {
		return ""
	}
	return fmt.Sprintf("It is not known exactly who waited for whom, and for how long: "+
		"this is recorded by the clocks of many processes, which may be off by %s.", h.OffBy())
}

// quietFor reports whether a waiter was stuck for longer than limit plus a margin for clock errors, and nothing that
// matters (see Waits) happened meanwhile. It examines only the first waiter that was stuck for this long.
func quietFor(t *trace.Trace, limit history.Time) bool {
	margin := 2 * t.History.Header.ClockError
	s, found := t.FirstStuck(limit + 2*margin)
	if !found {
		return false
	}
	for _, until := range t.History.Header.Seen {
		if until < s.Since+limit+2*margin {
			return false
		}
	}
	for _, at := range t.Keys { // the last record of a server says whether the key expires
		if until, ends := t.History.Header.Seen[t.History.Events[at].Process]; ends && until < t.End {
			return false
		}
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

// Bounds explains why it is uncertain whether an acquire or a release took too long although no fault prevented it.
// Many processes' clocks recorded the times of faults, so it is not known exactly when a quorum was up and reachable.
func Bounds(t *trace.Trace, _ bool, _ int) string {
	return fmt.Sprintf("Faults are recorded by the clocks of many processes, which may be off by %s, "+
		"so it is not known exactly when a quorum was up and reachable.", t.History.Header.OffBy())
}
