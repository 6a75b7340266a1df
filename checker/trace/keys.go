package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// place is where a key may be stored: on a server, for a lock, as one member of what several hold.
type place struct {
	server history.Process
	lock   history.Lock
	member string
}

// liveKey is a key that is present on a server, or was.
type liveKey struct {
	there bool
	of    history.Attempt
	until history.Time // when it is due to expire
}

// keys tracks which keys are present, according to the records read so far.
type keys struct{ at table[place, liveKey] }

// reset removes all keys.
func (k *keys) reset() { k.at.reset() }

// liveAt is what is present where a record's key is stored. What several members keep together has one place, whichever
// of them records it.
func (t *Trace) liveAt(e *history.Event) *liveKey {
	return t.live.at.of(place{t.Keeper(e.Process), e.Lock, e.Member})
}

// Keeper is who keeps what a server records: the service of which it is a member, else the server itself.
func (t *Trace) Keeper(server history.Process) history.Process {
	if t.History.Header.OneService() {
		return t.Unit(server)
	}
	return server
}

// Unit names the servers that share one copy of a lock: a group by its first member, or a server alone.
func (t *Trace) Unit(p history.Process) history.Process {
	for _, group := range t.History.Header.Groups {
		if slices.Contains(group, p) {
			return group[0]
		}
	}
	return p
}

// Setter is the attempt that set a key.
func Setter(e *history.Event) history.Attempt {
	if e.By != "" {
		return e.By
	}
	return e.Of
}

// promote gives a replica that takes its master's place the master's keys: what it lacks is recorded as lost
// afterwards. What it had itself, when it was the master before, was replaced long ago.
func (k *keys) promote(f *Fault) {
	if f.Does != history.Promotes || len(f.On) == 0 || len(f.To) == 0 {
		return
	}
	for p := range k.at.number {
		if p.server == f.To[0] {
			*k.at.of(p) = liveKey{}
		}
	}
	for p := range k.at.number {
		if p.server == f.On[0] {
			key := *k.at.of(p)
			p.server = f.To[0]
			*k.at.of(p) = key
		}
	}
}

// note applies a record of the key. A record of a key that is not there changes nothing.
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

// Change is a record that removes, overwrites or prolongs a key.
type Change struct {
	At        int             // its position
	Owner, By history.Attempt // whose key it was, and who changed it; By is empty if a flush does not say so
}

// Changes yields the changes of keys of locks for which the history says whose the key was and who changed it.
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

// change is what the record at a position does to the key that was there before; it has no owner if it changes none. If
// expiry is not recorded, a key that is overwritten must not have been due to expire.
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
