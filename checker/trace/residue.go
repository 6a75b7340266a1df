package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// shelf identifies a lock's keys on one server, or on a group of servers that share one copy of the keys. Such a group
// is named after its first member.
type shelf struct {
	lock history.Lock
	unit history.Process
}

// residue tracks whose keys are on the servers. It advances from one acquire to the next, in the order in which they
// were called.
type residue struct {
	next  int                 // index in Trace.Keys of the first record after the latest call that was examined
	there table[place, owned] // in these places, unit stands in for the server
	keys  table[shelf, int]   // number of keys on each shelf
}

// owned says whether a key is present, and which attempt owns it or owned it last.
type owned struct {
	there bool
	of    history.Attempt
}

// Reset prepares r for another history.
func (r *residue) Reset() {
	r.there.reset()
	r.keys.reset()
	r.next = 0
}

// note updates the set of remaining keys according to one record. Servers in the same unit, such as a master and its
// replicas, share one entry.
func (r *residue) note(e *history.Event, unit history.Process) {
	k := r.there.pointer(place{unit, e.Lock, e.Member})
	switch {
	case e.F == history.KeySet && k.there:
		k.of = e.Of
	case e.F == history.KeySet:
		*k = owned{true, e.Of}
		*r.keys.pointer(shelf{e.Lock, unit})++
	case e.F == history.KeyGone && k.there && k.of == e.Of:
		k.there = false
		*r.keys.pointer(shelf{e.Lock, unit})--
	}
}

// FreeQuorum reports whether there is a quorum of servers that are reachable and do not have a key that could block
// acquire a. Two kinds of keys could block it: a key that was there when the acquire was called, and a key that another
// process set between the call and position end. In a service with one replicated log, a single such key blocks the
// acquire.
//
// FreeQuorum uses the reachable servers found by QuorumReachable, so QuorumReachable must be called right before it.
// Acquires must be examined in the order in which they were called.
func (t *Trace) FreeQuorum(a *Ask, end int) bool {
	r := &t.Residue
	for ; r.next < len(t.Keys) && int(t.Keys[r.next]) < a.Call; r.next++ {
		e := &t.History.Events[t.Keys[r.next]]
		r.note(e, t.Unit(e.Process))
	}
	gone, lock := t.Reach.Gone, t.Locks[a.Lock].Name
	before := len(gone.Away)
	add := func(s history.Process) {
		if !slices.Contains(gone.Away[before:], s) {
			gone.Away = append(gone.Away, s)
		}
	}
	for _, s := range t.History.Header.Servers {
		if u := t.Unit(s); *r.keys.pointer(shelf{lock, u}) > 0 {
			add(u)
		}
	}
	for i := r.next; i < len(t.Keys) && int(t.Keys[i]) <= end; i++ {
		if e := &t.History.Events[t.Keys[i]]; e.F == history.KeySet && e.Lock == lock &&
			t.ProcessOf(e.Lock, e.Of) != a.Process {
			add(t.Unit(e.Process))
		}
	}
	return !(t.History.Header.OneService() && len(gone.Away) > before) && t.enough(&gone)
}
