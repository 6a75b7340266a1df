package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// shelf is where the keys of one lock are stored: on a server, or on one of the servers that share one copy, named by
// the first.
type shelf struct {
	lock history.Lock
	unit history.Process
}

// residue tracks, from ask to ask in the order of their calls, whose keys are on the servers.
type residue struct {
	next  int                 // in Trace.Keys: the first record after the last call looked at
	there table[place, owned] // with the unit in place of the server
	keys  table[shelf, int]   // how many there are
}

// owned is a key that is there, or was.
type owned struct {
	there bool
	of    history.Attempt
}

// Reset prepares it for another history.
func (r *residue) Reset() {
	r.there.reset()
	r.keys.reset()
	r.next = 0
}

// note applies a record. What one member of a group has lost, another may have.
func (r *residue) note(e *history.Event, unit history.Process) {
	k := r.there.of(place{unit, e.Lock, e.Member})
	switch {
	case e.F == history.KeySet && k.there:
		k.of = e.Of
	case e.F == history.KeySet:
		*k = owned{true, e.Of}
		*r.keys.of(shelf{e.Lock, unit})++
	case e.F == history.KeyGone && k.there && k.of == e.Of:
		k.there = false
		*r.keys.of(shelf{e.Lock, unit})--
	}
}

// FreeQuorum reports whether a quorum is left besides the servers out of reach and those on which, up to position end,
// another attempt's key was in the way of ask a: one that never expires, or that a request abandoned long before had
// set. Calls ascend from one to the next.
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
		if u := t.Unit(s); *r.keys.of(shelf{lock, u}) > 0 {
			add(u)
		}
	}
	for i := r.next; i < len(t.Keys) && int(t.Keys[i]) <= end; i++ {
		if e := &t.History.Events[t.Keys[i]]; e.F == history.KeySet && e.Lock == lock &&
			t.ProcessOf(e.Of) != a.Process {
			add(t.Unit(e.Process))
		}
	}
	return !(t.History.Header.OneService() && len(gone.Away) > before) && t.enough(&gone)
}
