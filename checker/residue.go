package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// shelf is where the keys of one lock stand: on a server, or on one of the servers that hold one copy between them, which is
// named by the first.
type shelf struct {
	lock history.Lock
	unit history.Process
}

// residue follows, from ask to ask in the order of their calls, whose keys stand on the servers.
type residue struct {
	next  int                       // in trace.keys: the first record after the last call looked at
	there map[place]history.Attempt // with the unit for the server
	keys  map[shelf]int
}

func (r *residue) reset() {
	if r.there == nil {
		r.there, r.keys = make(map[place]history.Attempt), make(map[shelf]int)
	}
	clear(r.there)
	clear(r.keys)
	r.next = 0
}

// note takes a record into account. What one member of a group has lost, another may have.
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

// freeQuorum reports whether a quorum is left besides the servers out of reach and those on which, up to position end,
// somebody else's key stood in the way of ask a: one that never expires, or that a request long given up set. Calls ascend
// from one to the next.
func (t *trace) freeQuorum(a *ask, end int) bool {
	r := &t.residue
	for ; r.next < len(t.keys) && int(t.keys[r.next]) < a.call; r.next++ {
		e := &t.h.Events[t.keys[r.next]]
		r.note(e, t.unit(e.Process))
	}
	gone, lock := t.reach.gone, t.locks[a.lock].name
	before := len(gone.away)
	add := func(s history.Process) {
		if !slices.Contains(gone.away[before:], s) {
			gone.away = append(gone.away, s)
		}
	}
	for _, s := range t.h.Header.Servers {
		if u := t.unit(s); r.keys[shelf{lock, u}] > 0 {
			add(u)
		}
	}
	for i := r.next; i < len(t.keys) && int(t.keys[i]) <= end; i++ {
		if e := &t.h.Events[t.keys[i]]; e.F == history.KeySet && e.Lock == lock && t.processOf(e.Of) != a.process {
			add(t.unit(e.Process))
		}
	}
	return !(oneService(&t.h.Header) && len(gone.away) > before) && t.enough(&gone)
}
