package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// takes reports whether the event at a position removes a key that any client may take, as a request does that pops an
// element of a list: it deletes the key after checking only that there is one.
func (t *Trace) takes(at int) bool {
	e := &t.History.Events[at]
	return e.F == history.KeyGone && e.Why == history.Deleted && e.Checked == history.CheckedPresence && e.By != ""
}

// LastTaken returns the position of the last event before the given position at which an attempt removed a key of a
// lock from unit, the servers that share one copy. It returns -1 if there is none.
func (t *Trace) LastTaken(of history.Attempt, lock history.Lock, unit history.Process, before int) int {
	for _, at := range slices.Backward(t.taken) {
		e := &t.History.Events[at]
		if int(at) < before && e.By == of && e.Lock == lock && t.Unit(e.Process) == t.Unit(unit) {
			return int(at)
		}
	}
	return -1
}

// WasOffered reports whether a change takes a key that stood for the free lock. An example is a token that the first
// client puts into a list, and that a client takes when it acquires the lock. Such a key belonged to nobody, although
// it was set by an attempt of a client. That attempt did not get the lock by setting the key: it was not granted the
// lock, or it took such a key itself after it had set this one, or it got the lock by taking such a key and then put it
// back.
func (t *Trace) WasOffered(c Change) bool {
	e := &t.History.Events[c.At]
	if !t.takes(c.At) || !t.AskedWhenSent(c) {
		return false
	}
	n, granted := t.Owner[Title{e.Lock, c.Owner}]
	if !granted {
		return true
	}
	set := t.LastSet(c)
	return set >= 0 && (t.LastTaken(c.Owner, e.Lock, e.Process, t.Grants[n].OK) > set || t.PutsBack(set, n))
}

// PutsBack reports whether the event at a position puts back a key that its attempt had taken to get the lock in grant
// n, before the attempt released the lock.
func (t *Trace) PutsBack(at int, n int32) bool {
	e, g := &t.History.Events[at], &t.Grants[n]
	return g.OK < at && at < g.Release && t.LastTaken(Setter(e), e.Lock, e.Process, g.OK) >= 0
}

// Spent reports whether, at a position, a lock has no element left that a client could take: each was taken and not put
// back, or was lost. It returns false for locks that clients do not get by taking an element. If an attempt that was
// never granted the lock takes an element, this counts as taking it to get the lock, even if its request arrived late.
func (t *Trace) Spent(lock int32, at int) bool {
	taken := false
	for k, i := range t.Keys {
		e := &t.History.Events[i]
		if n, is := t.LockNumber[e.Lock]; !is || n != lock || int(i) >= at {
			continue
		}
		if e.F == history.KeySet && t.stays(k, at) {
			return false
		}
		_, granted := t.Owner[Title{e.Lock, e.By}]
		taken = taken || t.takes(int(i)) && (!granted || t.AskedWhenSent(Change{At: int(i), By: e.By}))
	}
	return taken
}

// LastSet returns the last position before a change at which the owner set its key in the same place. It returns -1 if
// that is not recorded.
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

// AskedWhenSent reports whether the client whose request made a change was asking for the lock when it sent the
// request. If the history does not say when the request was sent, the time of the change is used instead.
func (t *Trace) AskedWhenSent(c Change) bool {
	e := &t.History.Events[c.At]
	n, granted := t.Owner[Title{e.Lock, c.By}]
	return slices.ContainsFunc(t.Locks[t.LockNumber[e.Lock]].Asks, func(i int32) bool {
		a := &t.Asks[i]
		if a.Process != t.ProcessOf(c.By) || granted && t.Grants[n].Ask != i {
			return false
		}
		if e.Sent == 0 {
			return a.Call < c.At && c.At < a.Ret
		}
		return t.Time(a.Call) <= e.Sent && (a.Ret == Open || e.Sent < t.Time(a.Ret))
	})
}
