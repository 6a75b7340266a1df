package checker

import (
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// faultTolerance judges that while a quorum of servers is up and reachable from an unpaused client, and nobody held or
// tried the lock within the last TTL, its acquire and the release of it succeed within the bound.
//
// An acquire is judged if, from its call to its return or the bound, whichever comes first,
//   - the same quorum of servers was, all the time, up, unpaused, not slowed, and on no cut, delayed or broken link with the
//     client, which was itself up and unpaused and kept its session;
//   - no key of another attempt stood in its way on so many servers that no quorum was left;
//   - from one TTL before its call nobody else asked for or held the lock. The client's own holds count too, unless its
//     releases returned ok and no fault was on since: they leave nothing behind.
//
// A release is judged if its acquire was, all this held from the acquire's call on, and the lease was valid when it was
// called. One that fails in time is excused if by then the lease had ended.
// Replicated groups count as one server each, up while all their members are and reach each other. If there are fewer
// groups than the quorum they are one service, and its members count. Faults of clocks are no excuse.
//
// It needs the header's servers, quorum and bound.
func (t *trace) faultTolerance(f *Finding) {
	h := &t.h.Header
	if h.Quorum <= 0 || h.Bound <= 0 || len(h.Servers) == 0 {
		f.unchecked("The header states no servers, quorum and bound.")
		return
	}
	judged := 0
	t.uses()
	t.reach.reset()
	t.residue.reset()
	for n := range t.asks {
		a := &t.asks[n]
		end := t.judgedUntil(a.call, a.ret)
		crashed := a.outcome == 0 && a.ret <= end
		if end < 0 || crashed || !t.undisturbed(int32(n), end) || !t.quorumReachable(a.process, a.call, end) || !t.freeQuorum(a, end) {
			continue
		}
		if t.late(a.call, a.ret, a.outcome) {
			t.slowStory(f, history.Acquire, a, a.call, a.ret, a.outcome)
			return
		}
		judged++
		if a.grant >= 0 {
			ok, violated := t.judgeRelease(f, int32(n), end)
			if violated {
				return
			}
			if ok {
				judged++
			}
		}
	}
	if judged == 0 {
		f.unchecked("No acquire or release was uncontended with a quorum of servers up and reachable all along.")
		return
	}
	f.holds(count(judged, "uncontended operation") + " with a quorum up and reachable, each within " + h.Bound.String() + ".")
}

// judgeRelease judges the release of an acquire that was judged itself and was over at position acquired.
func (t *trace) judgeRelease(f *Finding, n int32, acquired int) (judged, violated bool) {
	a := &t.asks[n]
	g := &t.grants[a.grant]
	if g.release == open || g.until <= t.time(g.release) {
		return false, false
	}
	end := t.judgedUntil(g.release, g.done)
	if end < 0 || t.goneBy(g, end) || !t.undisturbed(n, end) || !t.quorumReachable(a.process, a.call, end) {
		return false, false
	}
	if !t.freeQuorum(a, acquired) || !t.countedReachable(g) {
		return false, false
	}
	outcome := history.Type(0)
	if g.done != open {
		outcome = t.h.Events[g.done].Type
	}
	timely := g.done != open && t.time(g.done)-t.time(g.release) <= t.h.Header.Bound
	if outcome == history.Fail && timely && t.time(g.done) >= g.until {
		return false, false
	}
	if !t.late(g.release, g.done, outcome) {
		return true, false
	}
	t.slowStory(f, history.Release, a, g.release, g.done, outcome)
	return true, true
}

// countedReachable reports whether a quorum of those that granted the lock is left without the servers out of reach: only
// they can confirm its release.
func (t *trace) countedReachable(g *grant) bool {
	if g.lease == nil || len(g.lease.Counted) == 0 || len(t.h.Header.Groups) > 0 {
		return true
	}
	left := 0
	for _, s := range g.lease.Counted {
		if !slices.Contains(t.reach.gone.away, s) {
			left++
		}
	}
	return left >= t.h.Header.Quorum
}

// goneBy reports whether the process of g crashed by position end, before its release returned.
func (t *trace) goneBy(g *grant, end int) bool {
	for i := g.release; i <= end && i < g.done; i++ {
		if e := &t.h.Events[i]; e.F == history.Crashed && e.Process == g.process {
			return true
		}
	}
	return false
}

// judgedUntil is the position up to which the conditions of an operation must hold: its return, or the last event within
// its bound; -1 if the history ends before either.
func (t *trace) judgedUntil(call, ret int) int {
	due := t.time(call) + t.h.Header.Bound
	switch {
	case ret != open && t.time(ret) <= due:
		return ret
	case t.end <= due:
		return -1
	}
	after := func(e *history.Event) bool { return e.Time > due }
	rest := t.h.Events[call:]
	if t.ascending {
		return call + sort.Search(len(rest), func(i int) bool { return after(&rest[i]) }) - 1
	}
	for i := range rest {
		if after(&rest[i]) {
			return call + i - 1
		}
	}
	return len(t.h.Events) - 1
}

// late reports whether an operation did not succeed within the bound.
func (t *trace) late(call, ret int, outcome history.Type) bool {
	return ret == open || outcome != history.OK || t.time(ret)-t.time(call) > t.h.Header.Bound
}

func (t *trace) slowStory(f *Finding, op history.F, a *ask, call, ret int, outcome history.Type) {
	how := "had not returned when the run ended"
	switch {
	case ret != open && outcome == history.OK:
		how = sentence("took %v", t.time(ret)-t.time(call))
	case ret != open && outcome == 0:
		how = sentence("had not returned when its client crashed %v later", t.time(ret)-t.time(call))
	case ret != open:
		how = sentence("ended in %s after %v", outcome, t.time(ret)-t.time(call))
		if why := t.h.Events[ret].Why; why != "" {
			how += sentence(" (%s)", why)
		}
	}
	story := sentence("The %s of %s by %s, called at %v, %s, although at least %d of %d servers were up and reachable all along and nobody else held "+
		"or tried the lock; it should succeed within %v.", op, quoted(t.locks[a.lock].name), a.process, t.time(call), how, t.h.Header.Quorum,
		len(t.h.Header.Servers), t.h.Header.Bound)
	w := []int{call, ret}
	end := t.judgedUntil(call, ret)
	var told []impact // one of each kind is enough
	for i := range t.faults {
		x := impact{fault: &t.faults[i]}
		concerns := !x.does.IsClock() && t.onTheWay(x.fault, a.process, t.isServer)
		if concerns && x.from <= end && t.mended(x.fault) >= call && !slices.ContainsFunc(told, x.isLike) {
			told = append(told, x)
			story += sentence(" Meanwhile: %s.", t.cite(x.fault))
			w = append(w, x.from)
		}
	}
	f.violated(t, Cause{Kind: TooSlow}, story, w, t.locks[a.lock].name, a.process)
}
