package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// LastTaken returns the last position before the given one at which the given attempt took a key of the lock from a
// unit, or -1 if there is none. A unit consists of the servers that share one copy of the lock. Only keys that any
// client may take count (see history.Event.Takes).
func (t *Trace) LastTaken(of history.Attempt, lock history.Lock, unit history.Process, before int) int {
	for _, at := range slices.Backward(t.taken) {
		e := &t.History.Events[at]
		if int(at) < before && e.By == of && e.Lock == lock && t.Unit(e.Process) == t.Unit(unit) {
			return int(at)
		}
	}
	return -1
}

// WasOffered reports whether a change takes a key that shows that the lock is free. For example, the first client may
// put a token into a list, and clients then acquire the lock by taking the token. Such a key belongs to nobody, because
// the attempt that set it does not hold the lock through it. There are three cases: that attempt was never granted the
// lock; it set this key first and took such a key later; or it got the lock by taking such a key, and then returned it
// to the list.
func (t *Trace) WasOffered(c Change) bool {
	e := &t.History.Events[c.At]
	if !e.Takes() || !t.AskedWhenSent(c) {
		return false
	}
	n, granted := t.Owner[Title{e.Lock, c.Owner}]
	if !granted {
		return true
	}
	set := t.LastSet(c)
	return set >= 0 && (t.LastTaken(c.Owner, e.Lock, e.Process, t.Grants[n].OK) > set || t.PutsBack(set, n))
}

// PutsBack reports whether the event at the given position puts an element back into a list, after grant n and before
// the call to release it. The attempt that puts it back must have taken such an element before grant n.
func (t *Trace) PutsBack(at int, n int32) bool {
	e, g := &t.History.Events[at], &t.Grants[n]
	return g.OK < at && at < g.Release && t.LastTaken(Setter(e), e.Lock, e.Process, g.OK) >= 0
}

// Spent returns the position at which the last element of a list was taken, for a lock that a client gets by taking an
// element. It returns -1 if the list still has an element at the position at, or if the lock is of another kind. An
// element counts as taken even if the attempt that took it was never granted the lock, for example because its request
// arrived late.
func (t *Trace) Spent(lock int32, at int) (last int) {
	last = -1
	for k, i := range t.Keys {
		e := &t.History.Events[i]
		if n, is := t.LockNumber[e.Lock]; !is || n != lock || int(i) >= at {
			continue
		}
		if e.F == history.KeySet && t.stays(k, at) {
			return -1
		}
		_, granted := t.Owner[Title{e.Lock, e.By}]
		if e.Takes() && (!granted || t.AskedWhenSent(Change{At: int(i), By: e.By})) {
			last = int(i)
		}
	}
	return last
}

// LastSet returns the position at which the key's owner last set the key before change c, on the same server and for
// the same member. It returns -1 if the history does not record one.
func (t *Trace) LastSet(c Change) int {
	e := &t.History.Events[c.At]
	for _, at := range slices.Backward(t.Keys) {
		if k := &t.History.Events[at]; int(at) < c.At && t.sets(at, c.Owner, e.Lock) && k.Member == e.Member &&
			t.Keeper(k.Process) == t.Keeper(e.Process) {
			return int(at)
		}
	}
	return -1
}

// AskedWhenSent reports whether a client was asking for the lock when it sent the request that made a change. If the
// history does not say when the request was sent, AskedWhenSent uses the time of the change.
func (t *Trace) AskedWhenSent(c Change) bool {
	e := &t.History.Events[c.At]
	n, granted := t.Owner[Title{e.Lock, c.By}]
	return slices.ContainsFunc(t.Locks[t.LockNumber[e.Lock]].Asks, func(i int32) bool {
		a := &t.Asks[i]
		if a.Process != t.ProcessOf(e.Lock, c.By) || granted && t.Grants[n].Ask != i {
			return false
		}
		if e.Sent == 0 {
			return a.Call < c.At && c.At < a.Ret
		}
		return t.Time(a.Call) <= e.Sent && (a.Ret == Open || e.Sent < t.Time(a.Ret))
	})
}
