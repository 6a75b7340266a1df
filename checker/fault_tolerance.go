package checker

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/clockerror"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

const FaultTolerance Law = "fault-tolerance"

func init() {
	register(lawRow{law: FaultTolerance, place: 7, gravity: 7, kept: anyLock, atEnd: true,
		says: "while a quorum is up and reachable, an uncontended acquire and its release succeed within a bound, " +
			"and each release has an effect",
		broken: "a free lock is not acquired in time, or a lock is not released, although a quorum is up",
		judge:  (*judge).faultTolerance, uncertain: clockerror.Bounds})
}

// faultTolerance checks that an acquire and its release succeed within the bound. It judges them only while a quorum of
// servers is up and reachable, the client is not paused, and nobody has held or requested the lock within the last TTL.
//
// An acquire is judged if the following conditions hold from its call until its return or the bound, whichever comes
// first:
//   - A quorum of servers was up, unpaused and not slowed the whole time. No link between these servers and the client
//     was cut, delayed or faulty. The client itself was up and unpaused and kept its session.
//   - Other attempts' keys did not block so many servers that no quorum was left.
//   - From one TTL before the call, nobody else requested or held the lock. The client's own earlier holds count too,
//     unless their releases returned ok and no fault has been active since. Otherwise, a hold may have left keys
//     behind.
//   - From one TTL before the call, no single-member service restarted without its disk, which would have lost the
//     client's session.
//
// A release is judged if its acquire was judged, the conditions above still held, and the lease was valid when the
// release was called. A release that fails within the bound is excused if the lease had ended before it returned. A
// group of replicas counts as one server, which is up while all its members are up and can reach each other. If there
// are fewer groups than the quorum, the groups form one service, and each member counts. A clock fault is no excuse.
//
// A release that had no effect (see trace.Handback) also breaks the law, whatever it returned and whoever else
// requested the lock. The only excuse is a fault, at some time since the call to acquire, that could have prevented the
// release.
//
// The law needs the header's servers, quorum and bound. To find releases that had no effect, it also needs the servers'
// key records.
func (t *judge) faultTolerance(f *Finding) {
	h := &t.History.Header
	if !h.StatesQuorum() || h.Bound <= 0 {
		f.unchecked("The header does not state the servers, a quorum and a bound.")
		return
	}
	judged := 0
	unreleased := t.unreleased()
	t.Uses()
	t.Reach.Reset()
	t.Residue.Reset()
	for n := range t.Asks {
		a := &t.Asks[n]
		waited := t.Waited(a)
		end := t.judgedUntil(a.Call, waited)
		crashed := a.Outcome == 0 && waited <= end
		if end < 0 || crashed || !t.Undisturbed(int32(n), end) || !t.QuorumReachable(a.Process, a.Call, end) ||
			!t.FreeQuorum(a, end) {
			continue
		}
		if t.late(a.Call, a.Ret, a.Outcome) {
			t.slowStory(f, history.Acquire, a, a.Call, a.Ret, a.Outcome)
			continue
		}
		judged++
		isReported := slices.ContainsFunc(unreleased, func(r trace.Handback) bool { return r.Grant == a.Grant })
		if a.Grant >= 0 && !isReported && t.judgeRelease(f, int32(n), end) {
			judged++
		}
	}
	for i := range unreleased {
		t.unreleasedStory(f, &unreleased[i])
	}
	if f.Outcome == Violated {
		return
	}
	if judged == 0 {
		f.unchecked("No acquire or release was uncontended with a quorum up and reachable all the time.")
		return
	}
	f.holds(sentence("%s with a quorum up and reachable, each within %v.", count(judged, "uncontended operation"),
		h.Bound))
}

// judgeRelease judges the release of the lock that acquire n took. It returns false if there was no release to judge.
// The acquire must have been judged before. acquired is the position at which it ended.
func (t *judge) judgeRelease(f *Finding, n int32, acquired int) bool {
	a := &t.Asks[n]
	g := &t.Grants[a.Grant]
	if g.Release == trace.Open || g.Until <= t.Time(g.Release) {
		return false
	}
	end := t.judgedUntil(g.Release, g.Done)
	if end < 0 || t.MayBeGone(g, end) || !t.Undisturbed(n, end) || !t.QuorumReachable(a.Process, a.Call, end) {
		return false
	}
	if !t.FreeQuorum(a, acquired) || !t.countedReachable(g) {
		return false
	}
	outcome := history.Type(0)
	if g.Done != trace.Open {
		outcome = t.History.Events[g.Done].Type
	}
	timely := g.Done != trace.Open && t.Time(g.Done)-t.Time(g.Release) <= t.History.Header.Bound
	if outcome == history.Fail && timely && t.Time(g.Done) >= g.Until {
		return false
	}
	if t.late(g.Release, g.Done, outcome) {
		t.slowStory(f, history.Release, a, g.Release, g.Done, outcome)
	}
	return true
}

// countedReachable reports whether a quorum of the servers that granted the lock is reachable. Only these servers can
// confirm its release.
func (t *judge) countedReachable(g *trace.Grant) bool {
	if g.Lease == nil || len(g.Lease.Counted) == 0 || len(t.History.Header.Groups) > 0 {
		return true
	}
	return t.History.Header.IsQuorum(slices.DeleteFunc(slices.Clone(g.Lease.Counted),
		func(s history.Process) bool { return slices.Contains(t.Reach.Gone.Away, s) }))
}

// judgedUntil returns the position up to which an operation's conditions must hold. This is the operation's return or,
// if it did not return within the bound, the last event within the bound. If the history ends before the bound does,
// judgedUntil returns -1.
func (t *judge) judgedUntil(call, ret int) int {
	due := t.Time(call) + t.History.Header.Bound
	switch {
	case ret != trace.Open && t.Time(ret) <= due:
		return ret
	case t.End <= due:
		return -1
	}
	return t.LastBy(call, due)
}

// late reports whether an operation did not succeed within the bound.
func (t *judge) late(call, ret int, outcome history.Type) bool {
	return ret == trace.Open || outcome != history.OK || t.Time(ret)-t.Time(call) > t.History.Header.Bound
}

// slowStory reports an acquire or release that did not succeed within the bound.
func (t *judge) slowStory(f *Finding, op history.F, a *trace.Ask, call, ret int, outcome history.Type) {
	end, cause := t.judgedUntil(call, ret), Cause{Kind: TooSlow}
	answered := !t.late(call, ret, history.OK)
	refused := answered && outcome == history.Fail
	if refused && op == history.Release {
		cause.Kind = ReleaseRefused
	}
	b := t.breach(f, cause, min(end, len(t.History.Events)-1), t.Locks[a.Lock].Name, a.Process)
	if b == nil {
		return
	}
	story := sentence("The %s of %s by %s, called at %v, %s. ", op, quoted(t.Locks[a.Lock].Name), a.Process,
		t.Time(call), t.outcomeText(cause, call, ret, outcome)) +
		sentence("It should have succeeded within %v: %s, and nobody else held or requested the lock.",
			t.History.Header.Bound, t.quorumText())
	w := []int{call, ret}
	if cause.Kind == ReleaseRefused {
		g := &t.Grants[a.Grant]
		key := t.keyAt(g, ret)
		story, w = story+t.refusedStory(g, key), append(w, key)
	}
	var listed []trace.Impact // it is enough to list one of each kind
	for fault := range t.suspects() {
		x := trace.Impact{Fault: fault}
		concerns := x.Does.Delays() && t.onTheWay(x.Fault, a.Process, t.IsServer)
		if concerns && x.Start <= end && t.Mended(x.Fault) >= call && !slices.ContainsFunc(listed, x.IsLike) {
			listed = append(listed, x)
			story += sentence(" Meanwhile: %s.", t.Cite(x.Fault))
			w = append(w, x.Start)
		}
	}
	if t.facts.turnedAway = op == history.Acquire && t.asksOn(a, end); t.facts.turnedAway {
		story += t.turnedAwayStory(a.Process, t.Time(call)+t.History.Header.Bound)
	}
	if key := t.ownKey(a, end); op == history.Acquire && key != nil {
		t.facts.earlierTry = true
		story += sentence(" A key that %s itself had set at %v on %s was still there, and %s asked again.", a.Process,
			t.Time(key.set), t.History.Events[key.set].Process, a.Process)
		w = append(w, key.set)
	}
	if taken := t.Spent(a.Lock, end); op == history.Acquire && taken >= 0 {
		t.facts.spent = true
		if lost := t.takenInVain(taken); lost != "" {
			story, w = story+lost, append(w, taken)
		}
	}
	t.facts.far = t.fastest(a) > t.History.Header.Bound/6
	t.facts.refused = refused
	t.facts.unanswered = answered && op == history.Release && outcome == history.Info
	b.violated(t, cause, story, w)
}

// ownKey finds a key that an earlier request of acquire a set, and that is now blocking a itself. The key belongs to an
// attempt that was not granted the lock, and it still exists at position end. The client must also have sent another
// request after setting it. If there are several independent servers, the other request may have gone to a different
// one, so it counts only if it set a key on the same server. ownKey returns nil if there is no such key.
func (t *judge) ownKey(a *trace.Ask, end int) *standingKey {
	keys, due := t.standing(a.Lock, end+1), t.Time(a.Call)+t.History.Header.Bound
	if a.Ret != trace.Open {
		due = min(due, t.Time(a.Ret))
	}
	for n := range t.blocking(keys) {
		k := &keys[n]
		if t.makerOf(k) != a.Process || a.Grant >= 0 && t.Grants[a.Grant].Attempt == k.of {
			continue
		}
		later := slices.ContainsFunc(keys[n+1:], func(o standingKey) bool {
			return o.keeper == k.keeper && t.makerOf(&o) == a.Process
		})
		if later || len(t.units()) == 1 && t.asks(a.Process, t.Time(k.set), due) {
			return k
		}
	}
	return nil
}

// outcomeText describes what happened to an operation that did not succeed within the bound.
func (t *judge) outcomeText(cause Cause, call, ret int, outcome history.Type) string {
	if ret == trace.Open {
		return "had not returned when the run ended"
	}
	how, took := "", t.Time(ret)-t.Time(call)
	switch {
	case outcome == history.OK:
		return sentence("took %v", took)
	case outcome == 0:
		return sentence("had not returned when its client crashed %v later", took)
	case cause.Kind == ReleaseRefused:
		how = sentence("was refused after %v", took)
	default:
		how = sentence("ended in %s after %v", outcome, took)
	}
	if e := &t.History.Events[ret]; e.Value != "" {
		how += sentence(" (%q)", e.Value)
	} else if e.Why != "" {
		how += sentence(" (%s)", e.Why)
	}
	return how
}

// keyAt returns the position of the last record about a grant's key before the given position, or -1 if there is none.
func (t *judge) keyAt(g *trace.Grant, before int) int {
	for _, at := range slices.Backward(t.Keys) {
		if e := &t.History.Events[at]; int(at) < before && e.Lock == t.Locks[g.Lock].Name && e.Of == g.Attempt {
			return int(at)
		}
	}
	return -1
}

// refusedStory describes what the last record of a key shows about a refused release. It also notes in t.facts whether
// the key still existed, since the remedy depends on that.
func (t *judge) refusedStory(g *trace.Grant, key int) string {
	if key < 0 {
		return ""
	}
	e := &t.History.Events[key]
	t.facts.stood, t.facts.went = e.F != history.KeyGone, e.F == history.KeyGone
	switch e.F {
	case history.KeyGone:
		return sentence(" Its key on %s had been gone since %v (%s)%s.", e.Process, e.Time, e.Why,
			t.faultText(t.hurrying(g, key)))
	case history.KeyProlonged:
		return sentence(" Its key on %s was still there, last extended at %v.", e.Process, e.Time)
	}
	return sentence(" Its key on %s was still there, last set at %v.", e.Process, e.Time)
}

// hurrying returns the last clock fault that may have made grant g's key expire too early on a server. gone is the
// position at which the key expired. hurrying returns nil if the key did not expire early, or if no clock fault has
// been active on the server since the key was set.
func (t *judge) hurrying(g *trace.Grant, gone int) *trace.Fault {
	e, set := &t.History.Events[gone], t.keyAt(g, gone)
	if e.Why != history.Expired || set < 0 || e.Time >= t.History.Events[set].Until-rounding {
		return nil
	}
	return t.lastSuspect(gone, func(f *trace.Fault) bool {
		return f.Does.IsClock() && f.Strikes(e.Process) && f.Over() >= set
	})
}

// asksOn reports whether the client is known to have kept requesting the lock, although the lock was free. The client
// must have sent a request in the second half of the bound, which is how long an acquire may take. From the call to
// acquire until position end, no server may have had a key of the lock.
func (t *judge) asksOn(a *trace.Ask, end int) bool {
	call, bound := t.Time(a.Call), t.History.Header.Bound
	return t.asks(a.Process, call+bound/2, call+bound) && t.isFree(a.Lock, call, end+1)
}

// fastest returns the shortest time in which any acquire other than except got a lock. If none did, it returns the
// shortest time from a call until a key was set. If a client retried before any key was set, that time is measured from
// its first try, which may be the one that set the key.
//
// If there is neither a grant nor any record of a key, fastest returns Never, provided that the header lists the lock's
// measures and thus shows whether its requests have a short timeout. Otherwise it returns 0, because nothing is known.
func (t *judge) fastest(except *trace.Ask) history.Time {
	var granted, set history.Time
	note := func(least *history.Time, took history.Time) {
		if *least == 0 || took < *least {
			*least = took
		}
	}
	for n := range t.Asks {
		a := &t.Asks[n]
		if a == except {
			continue
		}
		if a.Outcome == history.OK {
			took := t.Time(a.Ret) - t.Time(a.Call)
			if lease := t.Grants[a.Grant].Lease; lease != nil {
				took = min(took, lease.Granted-lease.Since)
			}
			note(&granted, took)
		}
		for _, at := range t.Keys {
			e := &t.History.Events[at]
			if int(at) > a.Call && e.F == history.KeySet && e.Lock == t.Locks[a.Lock].Name &&
				t.ProcessOf(e.Lock, e.By) == a.Process {
				note(&set, e.Time-t.Time(t.firstCall(a, int(at))))
				break
			}
		}
	}
	if h := &t.History.Header; granted+set == 0 && len(t.Keys) == 0 && h.StatesMeasures() &&
		!h.Unsure(history.ShortTimeout) {
		return history.Never
	}
	return cmp.Or(granted, set)
}

// firstCall returns the position of the first call to acquire that may have set the key recorded at position set. This
// is the client's first call for the lock since its previous key was set, or its very first call if it had not set a
// key before.
func (t *judge) firstCall(of *trace.Ask, set int) int {
	first, after := of.Call, -1 // position at which the previous key was set
	for _, at := range t.Keys {
		e := &t.History.Events[at]
		if int(at) < set && e.F == history.KeySet && e.Lock == t.Locks[of.Lock].Name &&
			t.ProcessOf(e.Lock, e.By) == of.Process {
			after = int(at)
		}
	}
	for _, n := range t.Locks[of.Lock].Asks {
		a := &t.Asks[n]
		if a.Process == of.Process && a.Call > after {
			return min(first, a.Call)
		}
	}
	return first
}

// quorumText returns a clause that says that a quorum of servers was available, such as "at least 2 of 3 servers were
// up and reachable all the time".
func (t *judge) quorumText() string {
	h := &t.History.Header
	switch {
	case h.OneService() || len(h.Groups) == 0 && len(h.Servers) > 1:
		return sentence("at least %d of %d servers were up and reachable all the time", h.Quorum, len(h.Servers))
	case len(h.Groups) > 1:
		return sentence("at least %d of %d masters and all their replicas were up and reachable all the time",
			h.Quorum, len(h.Groups))
	case len(h.Servers) > 1:
		return sentence("%s were up and reachable all the time", list(h.Servers))
	}
	return sentence("%s was up and reachable all the time", h.Servers[0])
}
