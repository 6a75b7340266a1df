package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// faultTolerance judges that while a quorum of servers is up and reachable from an unpaused client, and nobody held or
// tried the lock within the last TTL, its acquire and the release of it succeed within the bound.
//
// An acquire is judged if, from its call to its return (or the bound, if that comes first),
//   - at least a quorum of servers was each, all the time, up, unpaused, and on no cut, delayed or broken link with the
//     client, which was itself up and unpaused;
//   - if it did not succeed: no key of another attempt stood in its way on so many servers that no quorum was left;
//   - from one TTL before its call nobody else asked for or held the lock. The client's own holds count too, unless its
//     releases returned ok and no fault was on since: they leave nothing behind.
//
// A release is judged if its acquire was, all this held from the acquire's call on, and the lease was still valid at its
// return, or when the bound ended.
// Replicated shards count as one server each, up while all their members are and reach each other. If there are fewer
// shards than the quorum they are one service, and its members count. Faults of clocks are no excuse.
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
	for n := range t.asks {
		a := &t.asks[n]
		end := t.judgedUntil(a.call, a.ret)
		if end < 0 || a.outcome == 0 && a.ret != open || !t.undisturbed(int32(n), t.time(end)) || !t.quorumReachable(a.process, a.call, end) {
			continue
		}
		if t.late(a.call, a.ret, a.outcome) {
			if t.freeQuorum(a, end) {
				t.slowStory(f, history.Acquire, a, a.call, a.ret, a.outcome)
				return
			}
			continue
		}
		judged++
		if a.grant >= 0 {
			ok, violated := t.judgeRelease(f, int32(n))
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

// judgeRelease judges the release of an acquire that was judged itself.
func (t *trace) judgeRelease(f *Finding, n int32) (judged, violated bool) {
	a := &t.asks[n]
	g := &t.grants[a.grant]
	if g.ending != released {
		return false, false
	}
	end := t.judgedUntil(g.release, g.done)
	if end < 0 || g.done == open && t.goneBy(g, end) || !t.undisturbed(n, t.time(end)) || !t.quorumReachable(a.process, a.call, end) {
		return false, false
	}
	if !t.countedReachable(g) {
		return false, false
	}
	if answered := t.time(g.release) + t.h.Header.Bound; t.leasedUntil(a.grant) < min(answered, t.time(g.done)) {
		return false, false
	}
	outcome := history.Type(0)
	if g.done != open {
		outcome = t.h.Events[g.done].Type
	}
	if !t.late(g.release, g.done, outcome) {
		return true, false
	}
	t.slowStory(f, history.Release, a, g.release, g.done, outcome)
	return true, true
}

// leasedUntil is the latest end of validity that a grant's acquire and extensions state, whenever it was released.
func (t *trace) leasedUntil(n int32) history.Time {
	until := -history.Never
	for _, w := range t.locks[t.grants[n].lock].windows {
		if w.grant == n {
			until = max(until, t.h.Events[w.at].Grant.Until)
		}
	}
	return until
}

// countedReachable reports whether a quorum of those that granted the lock is left without the servers out of reach: only
// they can confirm its release.
func (t *trace) countedReachable(g *grant) bool {
	if g.lease == nil || len(g.lease.Counted) == 0 || len(t.h.Header.Shards) > 0 {
		return true
	}
	left := 0
	for _, s := range g.lease.Counted {
		if !slices.Contains(t.away, s) {
			left++
		}
	}
	return left >= t.h.Header.Quorum
}

// goneBy reports whether the process of g crashed before position end: its release never returns.
func (t *trace) goneBy(g *grant, end int) bool {
	for i := range t.h.Events[g.release:min(end, len(t.h.Events))] {
		if e := &t.h.Events[g.release+i]; e.F == history.Crashed && e.Process == g.process {
			return true
		}
	}
	return false
}

// judgedUntil is the position up to which the conditions of an operation must hold: its return, or the first event
// after its bound; -1 if the history ends before either.
func (t *trace) judgedUntil(call, ret int) int {
	due := t.time(call) + t.h.Header.Bound
	if ret != open && t.time(ret) <= due {
		return ret
	}
	for i := call; i < len(t.h.Events); i++ {
		if i == ret || t.h.Events[i].Time > due {
			return i
		}
	}
	if t.end > due && len(t.h.Events) > 0 {
		return len(t.h.Events) - 1
	}
	return -1
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
	for i := range t.faults {
		x := &t.faults[i]
		concerns := x.Strikes(a.process) || slices.ContainsFunc(x.Struck(), t.isServer)
		if concerns && x.from < ret && t.mended(x) >= call {
			story += sentence(" Meanwhile: %s.", t.cite(x))
			w = append(w, x.from)
		}
	}
	f.violated(t, Cause{Kind: TooSlow}, story, w, t.locks[a.lock].name, a.process)
}
