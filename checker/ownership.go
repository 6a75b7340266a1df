package checker

import (
	"github.com/fencepost-sim/fencepost/checker/clockerror"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

const Ownership Law = "ownership"

func init() {
	register(lawRow{law: Ownership, place: 4, gravity: 4, kept: anyLock,
		says:   "only its owner or its expiry removes or prolongs a lock",
		broken: "a lock is removed or prolonged by another than its owner",
		judge:  (*judge).ownership, uncertain: clockerror.Records})
}

// ownership judges that only its owner or its expiry removes or prolongs a lock. The owner is an attempt, not a client:
// the late release of an old attempt is a stranger's. Setting a key over a live one removes that one; a flush does not
// check whose the keys are.
//
// It needs records of keys that were deleted, overwritten or prolonged. One that does not name both sides cannot be
// judged; and where servers do not record why keys went, it cannot be known that it held.
func (t *judge) ownership(f *Finding) {
	judged, silent, faults := 0, -1, t.Faults
	t.Live.Reset()
	for _, at := range t.Keys {
		e := &t.History.Events[at]
		for ; len(faults) > 0 && faults[0].Start < int(at); faults = faults[1:] {
			t.Live.Promote(&faults[0])
		}
		if _, isLock := t.LockNumber[e.Lock]; !isLock {
			continue
		}
		if e.Why == history.NotRecorded && silent < 0 {
			silent = int(at)
		}
		key := t.LiveAt(e)
		owner, by := t.contested(key, e)
		key.Note(e)
		if owner == "" || by == "" && e.Why != history.Flushed {
			continue
		}
		judged++
		if by != owner {
			t.trespass(f, int(at), owner)
		}
	}
	if f.Outcome == Violated {
		return
	}
	if silent >= 0 {
		e := &t.History.Events[silent]
		f.unchecked(sentence("%s recorded that a key of %s was gone at %v, and not why or by whom: who deletes "+
			"or prolongs locks there is not known.", e.Process, quoted(e.Lock), e.Time))
		f.Unrecorded = true
		return
	}
	if judged == 0 {
		f.unchecked("No server recorded who deleted, overwrote or prolonged a lock.")
		return
	}
	f.holds(count(judged, "request") + " deleted, overwrote or prolonged a lock on a server, none but of its owner.")
}

// ownerSince is the position at which the owner set the key that the event at position at removes or prolongs, -1 if
// unknown.
func (t *judge) ownerSince(at int, owner history.Attempt) int {
	e := &t.History.Events[at]
	for i := at - 1; i >= 0; i-- {
		if s := &t.History.Events[i]; s.F == history.KeySet && t.Keeper(s.Process) == t.Keeper(e.Process) &&
			s.Lock == e.Lock && s.Of == owner {
			return i
		}
	}
	return -1
}

// contested finds whose key a record changes, and who changed it; empty if it changes none. was is the key before.
func (t *judge) contested(was *trace.LiveKey, e *history.Event) (owner, by history.Attempt) {
	switch {
	case e.F == history.KeySet:
		if t.Overwritten(was, e) {
			return was.Of, trace.Setter(e)
		}
		return "", ""
	case e.F == history.KeyProlonged, e.Why == history.Deleted, e.Why == history.Flushed:
		return e.Of, e.By
	}
	return "", ""
}

// trespass reports that the event at a position removed or prolonged a key that was not its own attempt's.
func (t *judge) trespass(f *Finding, at int, owner history.Attempt) {
	e := &t.History.Events[at]
	cause, did := Cause{Kind: RemovedByNonOwner}, "deleted"
	switch {
	case e.F == history.KeyProlonged:
		cause, did = Cause{Kind: ProlongedByNonOwner}, "prolonged"
	case e.F == history.KeySet:
		cause, did = Cause{RemovedByNonOwner, Overwritten}, "overwrote"
	case e.Why == history.Flushed:
		cause, did = Cause{RemovedByNonOwner, ByFlush}, "flushed"
	}
	b := t.breach(f, cause, at, e.Lock, t.ProcessOf(e.By), t.ProcessOf(owner))
	if b == nil {
		return
	}
	w := []int{at}
	if set := t.ownerSince(at, owner); set >= 0 {
		w = append(w, set)
	}
	story := sentence("On %s, a request of %s %s the lock %s at %v although it belonged to %s.",
		e.Process, t.name(e.By), did, quoted(e.Lock), e.Time, t.name(owner))
	if g, ok := t.Owner[trace.Title{Lock: e.Lock, Attempt: e.By}]; ok && t.Grants[g].OK < at {
		w = append(w, t.Grants[g].OK)
		last := t.LastWindow(t.Grants[g].Lock, g)
		switch {
		case last != nil && t.Grants[g].GaveBack(&t.Trace, e.Time):
			story += sentence(" %s had called release at %v.", capital(t.name(e.By)), t.Time(t.Grants[g].Release))
		case last != nil && history.Time(last.To) <= e.Time:
			story += sentence(" The lease of %s had ended at %v.", t.name(e.By), history.Time(last.To))
		}
	}
	story += t.blameStory(t.ProcessOf(t.History.Events[at].By), t.strayBlame(at, t.ownerSince(at, owner)))
	b.violated(t, cause, story+t.comparison(cause, at), w)
}

// comparison explains how the server came to change another's key wrongly at a position, if that is known.
func (t *judge) comparison(c Cause, at int) string {
	h := &t.History.Header
	emptied := t.lastSuspect(at, func(f *trace.Fault) bool { return f.Loses == history.LosesEverything })
	switch {
	case c.Detail == Overwritten:
		return " The server was told to set the key whether or not there was one."
	case c.Kind == ProlongedByNonOwner && len(h.Unknown) > 0:
		return ""
	case c.Kind == ProlongedByNonOwner, c.Detail == ByFlush:
		return " The server did not compare the owner before it acted."
	case h.Shows(history.PartOfOwner):
		return " The server compared no more than a part of the owner value before it acted."
	case h.Service == history.Etcd && h.OnlyMember() && h.Applies(history.OwnerCheck) && emptied != nil:
		return " The server compared the revision at which the key was put, but revisions had begun anew with an " +
			"empty disk" + t.faultText(emptied) + "."
	case h.Applies(history.OwnerCheck) && !h.MayApply(history.OwnValue):
		return " The server compared the owner before it acted, but owners share a value."
	case h.MayApply(history.OwnerCheck):
		return ""
	}
	return " The server did not compare the owner before it acted."
}
