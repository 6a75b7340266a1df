package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Over reports whether the hold of a key's owner had ended by the record that changes it, so that another may do so, if
// it checks what it changes: the owner had called its release, or the lease that it was told had run out; if it was
// told no end, it had learned of the loss, or crashed; or it had given up asking.
func (t *Trace) Over(c Change) bool {
	e := &t.History.Events[c.At]
	n, granted := t.Owner[Title{e.Lock, c.Owner}]
	if !granted {
		return t.gaveUp(c)
	}
	g, until := &t.Grants[n], t.toldUntil(n, c.At)
	return g.OK < c.At && (g.Release < c.At || until <= e.Time || until == history.Never && g.End < c.At)
}

// toldUntil is the end of the lease as its holder had been told by position at; Never if it had been told none.
func (t *Trace) toldUntil(n int32, at int) history.Time {
	g := &t.Grants[n]
	until := history.Time(history.Never)
	if g.Lease != nil {
		until = g.Lease.Until
	}
	for _, x := range t.extensions {
		if x.grant == n && x.at < at {
			until = t.History.Events[x.at].Grant.Until
		}
	}
	return until
}

// gaveUp reports whether the owner, which was never granted the lock, no longer asked for it. A history does not say
// which attempts an ask made: one whose key stood before the ask was of an earlier one, and a process that acts for a
// later attempt has given this one up.
func (t *Trace) gaveUp(c Change) bool {
	p, lock := t.ProcessOf(c.Owner), t.History.Events[c.At].Lock
	if p == t.ProcessOf(c.By) {
		set := slices.IndexFunc(t.Keys, func(i int32) bool { return t.sets(i, c.Owner, lock) })
		return set >= 0 && !t.setBefore(c.By, lock, int(t.Keys[set]))
	}
	asked := false
	for i := range t.Asks {
		a := &t.Asks[i]
		switch {
		case a.Process != p || t.Locks[a.Lock].Name != lock || a.Call > c.At:
		case a.Ret > c.At && !t.setBefore(c.Owner, lock, a.Call):
			return false
		default:
			asked = true
		}
	}
	return asked
}

// setBefore reports whether an attempt had set a key of a lock before position at.
func (t *Trace) setBefore(of history.Attempt, lock history.Lock, at int) bool {
	return slices.ContainsFunc(t.Keys, func(i int32) bool { return int(i) < at && t.sets(i, of, lock) })
}

// sets reports whether the event at position i sets a key of a lock for an attempt.
func (t *Trace) sets(i int32, of history.Attempt, lock history.Lock) bool {
	e := &t.History.Events[i]
	return e.F == history.KeySet && e.Of == of && e.Lock == lock
}
