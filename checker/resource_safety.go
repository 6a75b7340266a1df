package checker

import (
	"github.com/fencepost-sim/fencepost/checker/clockerror"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

const ResourceSafety Law = "resource-safety"

func init() {
	register(lawRow{law: ResourceSafety, place: 3, gravity: 2, kept: Fenced,
		says:   "the protected resource accepts no effect of a superseded holder, and no update is lost",
		broken: "the resource accepts what a superseded holder sends",
		judge:  (*judge).resourceSafety, uncertain: clockerror.Effects})
}

// resourceSafety judges whether the data is safe, from the resource's own records:
//
//	(a) once a read or write of grant B was accepted, no write of an earlier grant A is accepted;
//	(b) each accepted write builds on the value that its own read returned.
//
// A lock's data is one register. It starts as "", or as the value that the first accepted read returned. A write builds
// on the value that its client had received when it sent the write. If the history does not record the clients' reads
// and writes, the write builds on the value of the client's last accepted read. After a write, the client knows the
// value that it wrote, so its next write builds on that value.
//
// Three kinds of writes are exempt from (b):
//   - A write without a preceding read. It does not build on anything.
//   - A write over a value that nobody in the history wrote. It does not lose anyone's update.
//   - A write over a value that somebody unknown had already overwritten. That is known if the writer has since read a
//     value that nobody in the history wrote.
//
// A read or write by an attempt that was never granted has no place in the grant order, so (a) does not apply to it. It
// still changes the value, and (b) applies. A write that breaks both (a) and (b) counts as one breach, of (a).
//
// The law is unchecked for a semaphore, whose holders may write at the same time.
//
// The law needs accepted writes, and grants with tokens or with the times at which they were decided. Porcupine also
// judges the clients' read-modify-writes: whatever it refutes must break (a) or (b), too.
func (t *judge) resourceSafety(f *Finding) {
	if n := t.Permits(); n > 1 {
		f.unchecked(sentence("The lock has %d permits: "+
			"several holders use the resource at once, and none of them supersedes another.", n))
		return
	}
	s := &t.Scan
	s.Reset(len(t.Locks), len(t.Grants))
	writes, byHolders, ranked, unranked := 0, 0, false, false
	for _, at := range t.Data {
		e := &t.History.Events[at]
		lock, known := t.LockNumber[e.Lock]
		if e.F != history.Apply && known && e.Attempt != "" {
			s.Bases.Client(int(at), lock, e)
		}
		if e.F != history.Apply || !known || e.Type != history.OK {
			continue
		}
		n, granted := t.GrantAt(e.Of, lock)
		broke := false
		if e.Op == history.Write {
			writes++
			if granted {
				byHolders++
				if newer := t.Superseded(lock, n); newer >= 0 {
					t.staleStory(f, int(at), newer)
					broke = true
				}
				unranked = unranked || s.Data[lock].Incomparable(&t.Grants[n], s.Ranked[n])
				ranked = ranked || t.Grants[n].Kind()&(trace.HasTimes|trace.HasToken) != 0
			}
			if own := s.Bases.Under(lock, e); !broke && t.Loses(lock, own) {
				t.lostStory(f, int(at), lock, own)
			}
		}
		s.Effect(int(at), lock, e)
		if granted {
			t.Rank(int(at), lock, n)
		}
	}
	switch {
	case f.Outcome == Violated:
	case writes == 0:
		f.unchecked("The resource accepted no write.")
	case byHolders == 0:
		f.unchecked("No write that the resource accepted belongs to an attempt " +
			"that is known to have been granted the lock.")
	case unranked || !ranked:
		f.unchecked("It is not known which grant is the later one: " +
			"some grants state neither when they were decided nor a fencing token.")
	case t.UpdatesRefuted():
		f.undecided("Porcupine refutes the clients' read-modify-writes, " +
			"but the resource's records show no stale effect and no lost update: " +
			"either the records and the clients' replies contradict each other, or the checker is wrong.")
	default:
		f.holds(sentence("%s, none by a superseded holder, and no update was lost.", count(writes, "accepted write")))
	}
}

// acceptsStale reports whether the resource ever accepted a write by a superseded holder.
func (t *judge) acceptsStale() bool {
	s := &t.Scan
	s.Reset(len(t.Locks), len(t.Grants))
	for _, at := range t.Data {
		e := &t.History.Events[at]
		lock, known := t.LockNumber[e.Lock]
		if e.F != history.Apply || !known || e.Type != history.OK {
			continue
		}
		n, granted := t.GrantAt(e.Of, lock)
		if granted && e.Op == history.Write && t.Superseded(lock, n) >= 0 {
			return true
		}
		s.Effect(int(at), lock, e)
		if granted {
			t.Rank(int(at), lock, n)
		}
	}
	return false
}

// staleStory tells how a superseded holder wrote. newer is the index of the read or write that superseded it.
func (t *judge) staleStory(f *Finding, at, newer int) {
	e := &t.History.Events[at]
	lock := t.LockNumber[e.Lock]
	by := t.Scan.Data[lock].Effects[newer]
	n, _ := t.GrantAt(e.Of, lock)
	a, b := &t.Grants[n], &t.Grants[by.Grant]
	cause := Cause{Kind: StaleEffect}
	found := t.breach(f, cause, at, e.Lock, a.Process, b.Process)
	if found == nil {
		return
	}
	effect := &t.History.Events[by.At]
	story := sentence("The resource accepted a write of %s at %v, although it had accepted a %s of %s at %v. ",
		t.nameOf(a, b), e.Time, effect.Op, t.nameOf(b, a), effect.Time) + t.orderStory(a, b)
	w := []int{a.OK, b.OK, by.At, at}
	if called, done := t.calledWrite(at); called >= 0 && a.Release < done {
		t.facts.letGo = true
		w = append(w, called, a.Release)
		order := " The writer called release at %v and did not send the write until %v."
		if called < a.Release {
			order = " The writer called release at %v, before it got a reply to the write that it had sent at %v."
		}
		story += sentence(order, t.Time(a.Release), t.Time(called))
	}
	if a.Lease != nil {
		end := a.Lease.Granted
		if last := t.LastWindow(lock, n); last != nil {
			end = history.Time(last.To)
		}
		why := t.blameFor(lateness{grant: n, met: by.At, left: at, deadline: effect.Time, ended: end})
		story += t.blameStory(a.Process, why)
		w = append(w, why.witness()...)
		switch {
		case t.facts.letGo:
		case a.GaveBack(&t.Trace, e.Time):
			story += sentence(" It had called release at %v.", t.Time(a.Release))
		case end <= e.Time:
			story += sentence(" Its lease had ended at %v.", end)
		}
	}
	story += " The resource did not know that the writer was no longer the holder."
	found.violated(t, cause, story, w)
}

// calledWrite returns two positions for a write that the resource accepted: that of the client's call and that of its
// return. called is -1 if the history does not record the call. done is trace.Open if the call did not return.
func (t *judge) calledWrite(at int) (called, done int) {
	applied := &t.History.Events[at]
	called, done = -1, trace.Open
	for i := range t.History.Events {
		e := &t.History.Events[i]
		switch {
		case e.F != history.Write || e.Attempt != applied.Of || e.Lock != applied.Lock || e.Value != applied.Value:
		case e.Type == history.Invoke && i < at:
			called, done = i, trace.Open
		case e.Type != history.Invoke && called >= 0 && done == trace.Open:
			done = i
		}
	}
	return called, done
}

// orderStory says why grant b counts as later than grant a.
func (t *judge) orderStory(a, b *trace.Grant) string {
	lock, earlier, later := quoted(t.Locks[b.Lock].Name), t.nameOf(a, b), t.nameOf(b, a)
	if t.Decided(a) < t.Since(b) {
		return sentence("The grant of %s to %s was the later one: "+
			"it was requested at %v, after the grant to %s had been made at %v.",
			lock, later, t.Since(b), earlier, t.Decided(a))
	}
	return sentence("The grant of %s to %s was the later one: its token is %d, and the token of %s is %d.",
		lock, later, b.Token, earlier, a.Token)
}

// lostStory tells how a write overwrote an update that its writer had not read. own is the value that the write builds
// on.
func (t *judge) lostStory(f *Finding, at int, lock int32, own trace.Basis) {
	e, d := &t.History.Events[at], &t.Scan.Data[lock]
	cause := Cause{Kind: LostUpdate}
	b := t.breach(f, cause, at, e.Lock, t.ProcessOf(e.Lock, e.Of))
	if b == nil {
		return
	}
	lost := " But the resource did not contain that value, so an update was lost."
	if d.At >= 0 {
		other := &t.History.Events[d.At]
		lost = sentence(" But %s had overwritten that value with %q at %v, so an update was lost.",
			t.name(other.Lock, other.Of), d.Value, other.Time)
	}
	known := &t.History.Events[own.At]
	did := known.F
	if did == history.Apply {
		did = known.Op
	}
	story := sentence("The resource accepted the write %q of %s at %v. "+
		"The write is based on the value %q, which the writer knew from its own %s at %v.",
		e.Value, t.name(e.Lock, e.Of), e.Time, own.Value, did, known.Time)
	b.violated(t, cause, story+lost, []int{own.At, d.At, at})
}
