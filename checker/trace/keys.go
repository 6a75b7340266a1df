package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// place is where a key may be stored: the server, the lock and, if one lock can have several keys, the member.
type place struct {
	server history.Process
	lock   history.Lock
	member string
}

// liveKey is a key that is, or was, present on a server.
type liveKey struct {
	there bool
	of    history.Attempt
	until history.Time // when it is due to expire
}

// keys contains the keys that are present after the records read so far.
type keys struct{ at table[place, liveKey] }

func (k *keys) reset() { k.at.reset() }

// liveAt returns what is known about the key that a record names. A service's members count as one server, because they
// share their keys.
func (t *Trace) liveAt(e *history.Event) *liveKey {
	return t.live.at.pointer(place{t.Keeper(e.Process), e.Lock, e.Member})
}

// Keeper returns the process that stores the keys that a server records: the service if the server is a member of one,
// and otherwise the server itself.
func (t *Trace) Keeper(server history.Process) history.Process {
	if t.History.Header.OneService() {
		return t.Unit(server)
	}
	return server
}

// Unit returns the name that stands for all servers with the same copy of a lock: the first member of the server's
// group, or the server itself if it is not in a group.
func (t *Trace) Unit(p history.Process) history.Process {
	for _, group := range t.History.Header.Groups {
		if slices.Contains(group, p) {
			return group[0]
		}
	}
	return p
}

// Setter returns the attempt that set a key.
func Setter(e *history.Event) history.Attempt {
	if e.By != "" {
		return e.By
	}
	return e.Of
}

// promote moves the keys if fault f is a promotion. The old master keeps a copy of its keys, because it may still
// record changes to them.
func (k *keys) promote(f *Fault) {
	over, ok := PromotionBy(f.Does, &f.Fault)
	if !ok {
		return
	}
	for p := range k.at.number {
		if _, kept := over.Moved(p.server); !kept {
			*k.at.pointer(p) = liveKey{}
		}
	}
	for p := range k.at.number {
		if now, kept := over.Moved(p.server); kept && now != p.server {
			key := *k.at.pointer(p)
			p.server = now
			*k.at.pointer(p) = key
		}
	}
}

// note updates the key with a record. A record about another owner's key does not change anything.
func (k *liveKey) note(e *history.Event) {
	switch {
	case e.F == history.KeySet:
		*k = liveKey{there: true, of: e.Of, until: e.Until}
	case e.Of != "" && e.Of != k.of:
	case e.F == history.KeyProlonged:
		k.until = e.Until
	case e.F == history.KeyGone:
		k.there = false
	}
}

// Change is a record that removes, overwrites or extends a key.
type Change struct {
	At        int             // position of the record
	Owner, By history.Attempt // who owned the key, and who changed it; By is empty if the record does not say
}

// Changes yields the changes to locks' keys. It skips a change if the history does not say who owned the key. It also
// skips a change if the history does not say who changed the key, unless the keys were flushed.
func (t *Trace) Changes(yield func(Change) bool) {
	faults := t.Faults
	t.live.reset()
	for _, at := range t.Keys {
		e := &t.History.Events[at]
		for ; len(faults) > 0 && faults[0].Start < int(at); faults = faults[1:] {
			t.live.promote(&faults[0])
		}
		if _, isLock := t.LockNumber[e.Lock]; !isLock {
			continue
		}
		key := t.liveAt(e)
		c := t.change(key, int(at))
		key.note(e)
		if c.Owner != "" && (c.By != "" || e.Why == history.Flushed) && !yield(c) {
			return
		}
	}
}

// change returns what the record at index at does to the previous key. The result has no Owner if the record sets a key
// that did not exist, or if a key disappeared without being deleted or flushed. If the history does not record
// expiries, overwriting a key counts as a change only if the key was not due to expire yet.
func (t *Trace) change(was *liveKey, at int) Change {
	e := &t.History.Events[at]
	switch {
	case e.F == history.KeySet && was.there && (t.Expiries || e.Time < was.until):
		return Change{at, was.of, Setter(e)}
	case e.F == history.KeyProlonged, e.Why == history.Deleted, e.Why == history.Flushed:
		return Change{at, e.Of, e.By}
	}
	return Change{At: at}
}
