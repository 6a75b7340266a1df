package checker

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/clockerror"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

const Ownership Law = "ownership"

func init() {
	register(lawRow{law: Ownership, place: 4, gravity: 4, kept: anyLock,
		says:   "only a lock's owner or its expiry removes or extends it",
		broken: "somebody other than its owner removes or extends a lock",
		judge:  (*judge).ownership, uncertain: clockerror.Records})
}

// ownership checks that a lock is removed or extended only by its owner or its expiry. The owner is an attempt, not a
// client: a late release by an old attempt counts as a release by another owner. Setting a key over a live one removes
// the live one. A flush removes keys without checking who owns them.
//
// A key may outlast its owner's hold. A release may write into the key that the lock is free, or leave it to another
// process to remove the key. A key without an expiry remains if its holder crashes. Another client that finds such a
// key may change it if, in the same step, it checks that the hold has ended. It is enough that the lease has ended by
// the server's clock, even if only because a fault has set that clock ahead: a key with an expiry would then expire
// early, too. A client that sets a key over another client's key must check what the other key contains. SET XX only
// checks that a key exists, not whose it is.
//
// Clients that hold one key together, such as the readers of a read-write lock, share its expiry. Each of them may
// change the expiry, but must not end another client's hold early. If that other client has itself shortened its hold,
// the shortened hold counts.
//
// A key that means that the lock is free belongs to nobody, no matter who set it. It is a token that a release returns,
// or that the first client creates before it requests the lock like all other clients. Any client that requests the
// lock may take it.
//
// The law requires records of keys that were deleted, overwritten or extended. A record that does not name both
// attempts cannot be judged. If servers do not record why keys disappeared, it is unknown whether the law holds.
func (t *judge) ownership(f *Finding) {
	judged, over, offered, spared := 0, false, false, false
	var harmless []trace.Change
	for c := range t.Changes {
		judged++
		if c.By == c.Owner {
			continue
		}
		switch may := t.mayChange(c); {
		case may && t.WasOffered(c):
			offered = true
		case may && t.Spares(c):
			spared = true
		case may:
			over = true
		case t.Over(c):
			harmless = append(harmless, c)
		default:
			t.trespass(f, c)
		}
	}
	for _, c := range harmless {
		t.trespass(f, c)
	}
	if f.Outcome == Violated {
		return
	}
	silent := slices.IndexFunc(t.Keys, func(at int32) bool { return t.unexplained(at) })
	if silent >= 0 {
		e := &t.History.Events[t.Keys[silent]]
		f.unchecked(sentence("%s recorded that a key of %s was gone at %v, "+
			"but not why or who removed it. Without this, "+
			"it is not known who deletes or extends locks on that server.", e.Process, quoted(e.Lock), e.Time))
		f.Unrecorded = true
		return
	}
	if judged == 0 {
		f.unchecked("No server recorded who deleted, overwrote or extended a lock.")
		return
	}
	by := "Each request came from the lock's owner"
	for _, other := range []struct {
		was  bool
		when string
	}{
		{spared, ", or from a client that also held the lock and did not shorten the owner's hold"},
		{over, ", or came after the owner's hold had ended"},
		{offered, ", or changed a key that marked the lock as free"},
	} {
		if other.was {
			by += other.when
		}
	}
	f.holds(sentence("%s deleted, overwrote or extended a lock on a server. %s.", count(judged, "request"), by))
}

// ownerSince returns the position at which the owner last set the key that the event at position at removes or extends.
// It returns -1 if that position is unknown.
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

// unexplained reports whether an event says that a lock's key disappeared, but not why.
func (t *judge) unexplained(at int32) bool {
	e := &t.History.Events[at]
	_, isLock := t.LockNumber[e.Lock]
	return isLock && e.Why == history.NotRecorded
}

// mayChange reports whether another client's request was entitled to change a key. This is so in three cases: the
// owner's hold is over, at least by the server's clock; the key means that the lock is free; or the client holds the
// key too, and does not shorten the owner's hold.
func (t *judge) mayChange(c trace.Change) bool {
	return t.History.Events[c.At].Checked == history.CheckedLapse ||
		t.LooksAtOwner(c) && (t.Over(c) || t.Lapsed(c)) || t.WasOffered(c) || t.Spares(c)
}

// trespass reports a violation: a change removed or extended another attempt's key.
func (t *judge) trespass(f *Finding, c trace.Change) {
	at, owner, by := c.At, c.Owner, c.By
	e := &t.History.Events[at]
	cause, did := Cause{Kind: RemovedByNonOwner}, "deleted"
	switch {
	case e.F == history.KeyProlonged:
		cause, did = Cause{Kind: ProlongedByNonOwner}, "extended"
	case e.F == history.KeySet:
		cause, did = Cause{RemovedByNonOwner, Overwritten}, "overwrote"
	case e.Why == history.Flushed:
		cause, did = Cause{RemovedByNonOwner, ByFlush}, "flushed"
	}
	b := t.breach(f, cause, at, e.Lock, t.ProcessOf(e.Lock, by), t.ProcessOf(e.Lock, owner))
	if b == nil {
		return
	}
	w := []int{at}
	if set := t.ownerSince(at, owner); set >= 0 {
		w = append(w, set)
	}
	story := sentence("On %s, a request from %s %s the lock %s at %v, although it belonged to %s.",
		e.Process, t.name(e.Lock, by), did, quoted(e.Lock), e.Time, t.name(e.Lock, owner))
	if g, ok := t.Owner[trace.Title{Lock: e.Lock, Attempt: owner}]; ok && t.Grants[g].Release < at {
		story += sentence(" %s had called release at %v, but its key was still there.", capital(t.name(e.Lock, owner)),
			t.Time(t.Grants[g].Release))
	}
	if g, ok := t.Owner[trace.Title{Lock: e.Lock, Attempt: by}]; ok && t.Grants[g].OK < at {
		w = append(w, t.Grants[g].OK)
		last := t.LastWindow(t.Grants[g].Lock, g)
		switch {
		case last != nil && t.Grants[g].GaveBack(&t.Trace, e.Time):
			story += sentence(" %s had called release at %v.", capital(t.name(e.Lock, by)), t.Time(t.Grants[g].Release))
		case last != nil && history.Time(last.To) <= e.Time:
			story += sentence(" The lease of %s had ended at %v.", t.name(e.Lock, by), history.Time(last.To))
		}
	}
	story += t.blameStory(t.ProcessOf(e.Lock, by), t.strayBlame(at, t.ownerSince(at, owner)))
	t.facts.extending = t.extending(by, e.Lock, at)
	t.facts.member, t.facts.asking = setsMember(e), t.deletedWhileAsking(at)
	t.facts.oneClient = t.ProcessOf(e.Lock, by) == t.ProcessOf(e.Lock, owner)
	t.facts.inside, t.facts.fixed = e.Member != "", unnumbered(e.Member)
	t.facts.watched, t.facts.looked = e.Checked == history.CheckedWatched, e.Checked == history.CheckedValue
	b.violated(t, cause, story+t.comparison(cause, at), w)
}

// extending reports whether an attempt had asked to extend a lock before the given position.
func (t *judge) extending(a history.Attempt, lock history.Lock, at int) bool {
	return slices.ContainsFunc(t.History.Events[:at], func(e history.Event) bool {
		return e.F == history.Extend && e.Attempt == a && e.Lock == lock
	})
}

// comparison explains why, in the event with index at, the server changed another attempt's key. It returns "" if the
// reason is not known. It uses what the request checked or, if that is not recorded, the safety measures
// (history.Measure) that the lock's users are known to apply.
func (t *judge) comparison(c Cause, at int) string {
	h, e := &t.History.Header, &t.History.Events[at]
	emptied := t.lastSuspect(at, func(f *trace.Fault) bool { return f.Loses == history.LosesEverything })
	switch {
	case c.Detail == ByFlush:
		return " The server did not check the owner before it acted."
	case e.Checked == history.CheckedWatched:
		return " The client had watched the key (WATCH), but did not send the request in a transaction: " +
			"only EXEC checks that a watched key is unchanged."
	case e.Checked == history.CheckedNothing && c.Detail == Overwritten:
		return " The server was told to set the key even if it already existed."
	case e.Checked == history.CheckedNothing:
		return " The server did not check the owner before it acted."
	case e.Checked == history.CheckedPresence:
		return " The server was told to check that the key existed, but not whose it was."
	case h.Shows(history.PartOfOwner):
		return " The server compared only a part of the owner value before it acted."
	case h.Service.Kind().Revisions && h.OnlyMember() && h.Applies(history.OwnerCheck) && emptied != nil:
		return fmt.Sprintf(" The server compared the revision at which the key was put, "+
			"but revisions had started over on an empty disk%s.", t.faultText(emptied))
	}
	return t.measured(c, e)
}

// measured explains a change to a key if the history does not record what the request checked. It uses the safety
// measures (history.Measure) that the lock's users are known to apply.
func (t *judge) measured(c Cause, e *history.Event) string {
	h := &t.History.Header
	kind, measure := h.Service.Kind(), history.OwnerCheck
	if c.Kind == ProlongedByNonOwner {
		measure = history.ExtendCheck
	}
	// The measures protect releases and extensions. They help against an overwritten key only if clients may take over
	// a key that another client set.
	states := c.Detail != Overwritten || kind.ClientsExpire
	switch {
	case foundMember(e) && h.StatesMeasures() && !h.MayApply(history.OwnValue):
		return sentence(" Owners share %s: the request mistook the other attempt's hold for its own.", kind.Shared)
	case states && h.Applies(measure) && !h.MayApply(history.OwnValue):
		return sentence(" The server compared %s before it acted, but owners share %s.", kind.Compared, kind.Shared)
	case e.Checked == history.CheckedValue:
		return " The request read the value of the key, and changed the key anyway."
	case !states, !h.StatesMeasures(), h.MayApply(measure):
		return ""
	}
	return sentence(" The server did not check %s before it acted.", kind.Compared)
}
