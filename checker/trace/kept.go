package trace

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// kept is an index of the records about keys. It shows when an attempt first set its key, and when it last set or
// extended the key. The index is built only when it is needed. Most histories never need it.
type kept struct {
	isMade bool
	parts  table[part, struct{}]
	stays  []stay // sorted by part and position
	// requests with which attempts set keys of their own: one entry for the whole request, and one for each member that
	// the request set
	sets  map[request]bool
	moved map[request]bool // requests that gave a new expiry to a key of their own
	first map[Title]int    // position at which an attempt first set a key of a lock
}

// part identifies what an owner holds on a server: a lock's key, or the owner's member of the key.
type part struct {
	keeper history.Process
	lock   history.Lock
	member string
	owner  history.Attempt
}

// stay is a record that says that an owner set or extended its key, or that a server read it back from its disk.
type stay struct {
	part   int32 // number of the part
	at     int32
	byName bool // whether the record names the owner's request
}

// request identifies a request that an attempt sent to a server. Requests from the same attempt are distinguished by
// their times. A request is for one member of the key, or for all of its members.
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

// make indexes a history's records.
func (k *kept) make(t *Trace) {
	k.isMade = true
	if k.sets == nil {
		k.sets, k.moved, k.first = make(map[request]bool), make(map[request]bool), make(map[Title]int)
	}
	clear(k.sets)
	clear(k.moved)
	clear(k.first)
	k.parts.reset()
	k.stays = k.stays[:0]
	for _, at := range t.Keys {
		switch e := &t.History.Events[at]; {
		case e.F == history.KeySet:
			k.sets[requestOf(e)], k.sets[requestOf(e).on(e.Member)] = true, true
			if _, known := k.first[Title{e.Lock, e.Of}]; !known {
				k.first[Title{e.Lock, e.Of}] = int(at)
			}
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

// keptKeys returns the index of the history's keys. The first call for a history builds the index.
func (t *Trace) keptKeys() *kept {
	if !t.kept.isMade {
		t.kept.make(t)
	}
	return &t.kept
}

// firstSet returns the position at which an attempt first set a lock's key, or Open if it never did.
func (t *Trace) firstSet(of history.Attempt, lock history.Lock) int {
	if at, known := t.keptKeys().first[Title{lock, of}]; known {
		return at
	}
	return Open
}

func byPart(a, b stay) int { return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.at, b.at)) }

// forAnother reports whether the record is only a side effect of a request for another member of the key: at the same
// instant, the owner set another member, but not the record's member. (An expiry belongs to the whole key. So when a
// client adds a member, its earlier members get the new member's expiry, too.)
func (k *kept) forAnother(e *history.Event) bool {
	return k.sets[requestOf(e)] && !k.sets[requestOf(e).on(e.Member)]
}

// LastKept returns the last position before change c at which the owner set or extended its key (or its member of the
// key), or -1 if there is none. Only records of the server that recorded the change count. If the history has no
// request by the owner for this key, records without a request count instead: for example, a server that reads the key
// back from its disk.
func (t *Trace) LastKept(c Change) int {
	k, e := t.keptKeys(), &t.History.Events[c.At]
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

// Spares reports whether change c does nothing but give a new expiry to a key that the client shares with the owner,
// without shortening the owner's hold. The new expiry must not be earlier in true time than the previous one. By the
// server's clock, it may be earlier if that clock has been set back in the meantime.
func (t *Trace) Spares(c Change) bool {
	e, kept := &t.History.Events[c.At], t.LastKept(c)
	if e.F != history.KeyProlonged || kept < 0 || e.Until < t.History.Events[kept].Until {
		return false
	}
	own := requestOf(e)
	own.of, own.by = c.By, c.By
	return t.kept.moved[own]
}
