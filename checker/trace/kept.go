package trace

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// kept finds when an owner last kept its key. The records of a history are indexed when the first question is asked:
// most histories raise none.
type kept struct {
	isMade bool
	parts  table[part, struct{}]
	stays  []stay // sorted by part and position
	// requests that set a key of their own: each as a whole, and for each member that it set
	sets  map[request]bool
	moved map[request]bool // requests that gave a new expiry to a key of their own
}

// part is an owner's key in one place, or its member of the key.
type part struct {
	keeper history.Process
	lock   history.Lock
	member string
	owner  history.Attempt
}

// stay is a record of a key that its owner set or extended, or that a server read back from its disk.
type stay struct {
	part   int32 // number of the part
	at     int32
	byName bool // whether the record names the owner's request
}

// request is what one attempt did on a server at one instant. It has no member if it stands for all members.
type request struct {
	time   history.Time
	server history.Process
	lock   history.Lock
	of, by history.Attempt
	member string
	each   bool // whether it stands for one member
}

func requestOf(e *history.Event) request {
	return request{time: e.Time, server: e.Process, lock: e.Lock, of: e.Of, by: e.By}
}

func (r request) on(member string) request {
	r.member, r.each = member, true
	return r
}

func (k *kept) reset() { k.isMade = false }

// make indexes the records of a history.
func (k *kept) make(t *Trace) {
	k.isMade = true
	if k.sets == nil {
		k.sets, k.moved = make(map[request]bool), make(map[request]bool)
	}
	clear(k.sets)
	clear(k.moved)
	k.parts.reset()
	k.stays = k.stays[:0]
	for _, at := range t.Keys {
		switch e := &t.History.Events[at]; {
		case e.F == history.KeySet:
			k.sets[requestOf(e)], k.sets[requestOf(e).on(e.Member)] = true, true
		case e.F == history.KeyProlonged && e.Of == e.By:
			k.moved[requestOf(e)] = true
		}
	}
	for _, at := range t.Keys {
		e := &t.History.Events[at]
		byName := e.By == e.Of && (e.F == history.KeySet || e.F == history.KeyProlonged && !k.forAnother(e))
		if byName || e.By == "" && e.F == history.KeySet {
			of := part{t.Keeper(e.Process), e.Lock, e.Member, e.Of}
			k.stays = append(k.stays, stay{k.parts.numberOf(of), at, byName})
		}
	}
	slices.SortFunc(k.stays, byPart)
}

func byPart(a, b stay) int { return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.at, b.at)) }

// forAnother reports whether the expiry that a record sets belongs to another member: the owner set that member at the
// same instant, and not the one of the record. A deadline belongs to the whole key, so a client that adds a member sets
// the deadline for its earlier ones, too.
func (k *kept) forAnother(e *history.Event) bool {
	return k.sets[requestOf(e)] && !k.sets[requestOf(e).on(e.Member)]
}

// LastKept returns the last position before a change at which the owner set or extended its key, or its member of the
// key, on that server, or -1 if it never did. When a server reads a key back from its disk, the record names no
// request. Such a record counts only if the history names no request for the owner's other records either.
func (t *Trace) LastKept(c Change) int {
	k, e := &t.kept, &t.History.Events[c.At]
	if !k.isMade {
		k.make(t)
	}
	number, known := k.parts.number[part{t.Keeper(e.Process), e.Lock, e.Member, c.Owner}]
	if !known {
		return -1
	}
	first, _ := slices.BinarySearchFunc(k.stays, stay{part: number}, byPart)
	before, _ := slices.BinarySearchFunc(k.stays, stay{part: number, at: int32(c.At)}, byPart)
	unnamed := -1
	for _, s := range slices.Backward(k.stays[first:before]) {
		if s.byName {
			return int(s.at)
		}
		if unnamed < 0 {
			unnamed = int(s.at)
		}
	}
	return unnamed
}

// Spares reports whether a change is a new expiry of a key that the client holds together with the owner, and leaves
// the owner's member at least until the end that the owner had given it. The expiry may become earlier by that if the
// server's clock had been set back, so that the key would have lived for longer than intended.
func (t *Trace) Spares(c Change) bool {
	e, kept := &t.History.Events[c.At], t.LastKept(c)
	if e.F != history.KeyProlonged || kept < 0 || e.Until < t.History.Events[kept].Until {
		return false
	}
	own := requestOf(e)
	own.of, own.by = c.By, c.By
	return t.kept.moved[own]
}
