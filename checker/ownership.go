package checker

import (
	"github.com/fencepost-sim/fencepost/checker/history"
)

// ownership judges that only its owner or its expiry removes or prolongs a lock. The owner is an attempt, not a
// client: the late release of an old attempt is a stranger's. A key that is set over a live one removes that; a flush asks
// nobody whose the keys are.
//
// It needs records of keys that were deleted, overwritten or prolonged. One that does not name both sides cannot be judged.
func (t *trace) ownership(f *Finding) {
	judged, faults := 0, t.faults
	t.live.reset()
	for _, at := range t.keys {
		e := &t.h.Events[at]
		for ; len(faults) > 0 && faults[0].from < int(at); faults = faults[1:] {
			t.live.promote(&faults[0])
		}
		if _, isLock := t.lockNumber[e.Lock]; !isLock {
			continue
		}
		owner, by := t.contested(e)
		t.live.note(t.placeOf(e), e)
		if owner == "" || by == "" && e.Why != history.Flushed {
			continue
		}
		judged++
		if by != owner {
			t.trespass(f, int(at), owner)
			return
		}
	}
	if judged == 0 {
		f.unchecked("No server recorded who deleted, overwrote or prolonged a lock.")
		return
	}
	f.holds(count(judged, "request") + " deleted, overwrote or prolonged a lock on a server, none but of its owner.")
}

// ownerSince is the position at which the owner set the key that the event at position at removes or prolongs, -1 if unknown.
func (t *trace) ownerSince(at int, owner history.Attempt) int {
	e := &t.h.Events[at]
	for i := at - 1; i >= 0; i-- {
		if s := &t.h.Events[i]; s.F == history.KeySet && t.keeper(s.Process) == t.keeper(e.Process) && s.Lock == e.Lock && s.Of == owner {
			return i
		}
	}
	return -1
}

// contested tells whose key a record changes, and who changed it; nobody's if it changes none.
func (t *trace) contested(e *history.Event) (owner, by history.Attempt) {
	switch {
	case e.F == history.KeySet:
		if was, live := t.overwritten(e); live {
			return was.of, setter(e)
		}
		return "", ""
	case e.F == history.KeyProlonged, e.Why == history.Deleted, e.Why == history.Flushed:
		return e.Of, e.By
	}
	return "", ""
}

func (t *trace) trespass(f *Finding, at int, owner history.Attempt) {
	e := &t.h.Events[at]
	cause, did := Cause{Kind: RemovedByNonOwner}, "deleted"
	switch {
	case e.F == history.KeyProlonged:
		cause, did = Cause{Kind: ProlongedByNonOwner}, "prolonged"
	case e.F == history.KeySet:
		did = "overwrote"
	case e.Why == history.Flushed:
		cause, did = Cause{RemovedByNonOwner, ByFlush}, "flushed"
	}
	w := []int{at}
	if set := t.ownerSince(at, owner); set >= 0 {
		w = append(w, set)
	}
	story := sentence("On %s, a request of %s %s the lock %s at %v although it belonged to %s.",
		e.Process, t.name(e.By), did, quoted(e.Lock), e.Time, t.name(owner))
	if g, ok := t.owner[title{e.Lock, e.By}]; ok && t.grants[g].ok < at {
		w = append(w, t.grants[g].ok)
		if last := t.lastWindow(t.grants[g].lock, g); last != nil && history.Time(last.to) <= e.Time {
			story += sentence(" The lease of %s had ended at %v.", t.name(e.By), history.Time(last.to))
		}
	}
	story += t.strayStory(at, t.ownerSince(at, owner))
	f.violated(t, cause, story+" The server did not compare the owner before it acted.", w, e.Lock, t.processOf(e.By), t.processOf(owner))
	f.At = e.Index
}
