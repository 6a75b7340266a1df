package checker

import (
	"github.com/fencepost-sim/fencepost/checker/history"
)

// ownership judges that only its owner or its expiry removes or prolongs a lock. The owner is an attempt, not a
// client: the late release of an old attempt is a stranger's.
//
// It needs key-gone by deletion or key-prolonged. A record that does not name both sides cannot be judged.
func (t *trace) ownership(f *Finding) {
	judged := 0
	for _, at := range t.keyChanges {
		e := &t.h.Events[at]
		if _, isLock := t.lockNumber[e.Lock]; !isLock || e.Of == "" || e.By == "" {
			continue
		}
		judged++
		if e.By != e.Of {
			t.trespass(f, int(at), e)
			return
		}
	}
	if judged == 0 {
		f.unchecked("No server recorded who deleted or prolonged a lock.")
		return
	}
	f.holds(count(judged, "request") + " deleted or prolonged a lock on a server, none but of its owner.")
}

// ownerSince is the position at which the key was set that the event at position at removes or prolongs, -1 if unknown.
func (t *trace) ownerSince(at int) int {
	e := &t.h.Events[at]
	for i := at - 1; i >= 0; i-- {
		if s := &t.h.Events[i]; s.F == history.KeySet && s.Process == e.Process && s.Lock == e.Lock && s.Of == e.Of {
			return i
		}
	}
	return -1
}

func (t *trace) trespass(f *Finding, at int, e *history.Event) {
	cause := Cause{Kind: RemovedByNonOwner}
	did := "deleted"
	if e.F == history.KeyProlonged {
		cause, did = Cause{Kind: ProlongedByNonOwner}, "prolonged"
	}
	w := []int{at}
	if set := t.ownerSince(at); set >= 0 {
		w = append(w, set)
	}
	story := sentence("On %s, a request of %s %s the lock %s at %v although it belonged to %s.",
		e.Process, t.name(e.By), did, quoted(e.Lock), e.Time, t.name(e.Of))
	if g, ok := t.owner[e.By]; ok && t.grants[g].ok < at {
		w = append(w, t.grants[g].ok)
		if last := t.lastWindow(t.grants[g].lock, g); last != nil && history.Time(last.to) <= e.Time {
			story += sentence(" The lease of %s had ended at %v.", t.name(e.By), history.Time(last.to))
		}
	}
	story += t.strayStory(at, t.ownerSince(at))
	f.violated(t, cause, story+" The server did not compare the owner before it acted.", w, e.Lock, t.processOf(e.By), t.processOf(e.Of))
	f.At = e.Index
}
