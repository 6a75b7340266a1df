package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// shelf is where the keys of one lock stand on one server.
type shelf struct {
	lock   history.Lock
	server history.Process
}

// residue follows, from ask to ask in the order of their calls, which keys stand on the servers.
type residue struct {
	next  int // in trace.keys: the first record after the last call looked at
	there map[place]bool
	keys  map[shelf]int
}

func (r *residue) reset() {
	if r.there == nil {
		r.there, r.keys = make(map[place]bool), make(map[shelf]int)
	}
	clear(r.there)
	clear(r.keys)
	r.next = 0
}

func (r *residue) note(e *history.Event) {
	p := place{e.Process, e.Lock, e.Member}
	switch {
	case e.F == history.KeySet && !r.there[p]:
		r.there[p] = true
		r.keys[shelf{e.Lock, e.Process}]++
	case e.F == history.KeyGone && r.there[p]:
		delete(r.there, p)
		r.keys[shelf{e.Lock, e.Process}]--
	}
}

// freeQuorum reports whether a quorum is left besides the servers out of reach and those on which, up to position end,
// somebody else's key stood in the way of ask a: one that never expires, or that a request long given up set. Calls ascend
// from one to the next.
func (t *trace) freeQuorum(a *ask, end int) bool {
	r := &t.residue
	for ; r.next < len(t.keys) && int(t.keys[r.next]) < a.call; r.next++ {
		r.note(&t.h.Events[t.keys[r.next]])
	}
	gone, lock := t.reach.gone, t.locks[a.lock].name
	before := len(gone.away)
	add := func(s history.Process) {
		if !slices.Contains(gone.away[before:], s) {
			gone.away = append(gone.away, s)
		}
	}
	for _, s := range t.h.Header.Servers {
		if r.keys[shelf{lock, s}] > 0 {
			add(s)
		}
	}
	for _, shard := range t.h.Header.Shards {
		for _, s := range shard {
			if r.keys[shelf{lock, s}] > 0 {
				add(s)
			}
		}
	}
	for i := r.next; i < len(t.keys) && int(t.keys[i]) <= end; i++ {
		if e := &t.h.Events[t.keys[i]]; e.F == history.KeySet && e.Lock == lock && t.processOf(e.Of) != a.process {
			add(e.Process)
		}
	}
	return !(oneService(&t.h.Header) && len(gone.away) > before) && t.enough(&gone)
}
