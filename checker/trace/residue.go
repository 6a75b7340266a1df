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
	next  int                       // in Trace.Keys: the first record after the last call looked at
	there map[place]history.Attempt // with the unit in place of the server
	keys  map[shelf]int
}

// Reset prepares it for another history.
func (r *residue) Reset() {
	if r.there == nil {
		r.there, r.keys = make(map[place]history.Attempt), make(map[shelf]int)
	}
	clear(r.there)
	clear(r.keys)
	r.next = 0
}

// note applies a record. What one member of a group has lost, another may have.
func (r *residue) note(e *history.Event, unit history.Process) {
	p, at := place{unit, e.Lock, e.Member}, shelf{e.Lock, unit}
	of, there := r.there[p]
	switch {
	case e.F == history.KeySet:
		if r.there[p] = e.Of; !there {
			r.keys[at]++
		}
	case e.F == history.KeyGone && there && of == e.Of:
		delete(r.there, p)
		r.keys[at]--
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
		if u := t.Unit(s); r.keys[shelf{lock, u}] > 0 {
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
