package slow

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

func init() { register("fault-tolerance", (*reading).faultTolerance) }

// faultTolerance examines each acquire and its release. It compares them with every fault and every other acquire.
func (r *reading) faultTolerance() Finding {
	if r.Header.Quorum <= 0 || r.Header.Bound <= 0 || len(r.Header.Servers) == 0 {
		return Finding{Outcome: Unchecked}
	}
	outcome, judged := Unchecked, 0
	var broken []Breach
	for _, a := range r.asks {
		end, seen := r.judgedUntil(a.call, a.gone)
		gone := a.outcome == 0 && a.gone <= end
		if !seen || gone || !r.undisturbed(a, end) || !r.quorumFor(a, end, end) {
			continue
		}
		if !a.granted() || r.time(a.ret)-r.time(a.call) > r.Header.Bound {
			broken = append(broken, Breach{[]int{a.call}, "not within the bound",
				min(r.time(a.ret), r.time(a.call)+r.Header.Bound)})
			continue
		}
		outcome, judged = Holds, judged+1
		switch s := a.section; {
		case r.withoutEffect(s), !r.releaseJudged(s, end):
		case r.releasedInTime(s):
			judged++
		case !r.excused(s):
			cause, due := "not within the bound", r.time(s.release)+r.Header.Bound
			if s.done != r.none && r.Events[s.done].Type == history.Fail && r.time(s.done) <= due {
				cause = "release refused"
			}
			broken = append(broken, Breach{[]int{s.release}, cause, min(r.time(s.done), due)})
		}
	}
	for _, s := range r.released() {
		if r.withoutEffect(s) {
			_, over, _ := r.handedBack(s)
			broken = append(broken, Breach{[]int{s.release}, "release without effect", r.time(over)})
		}
	}
	return Finding{Outcome: outcome, Judged: judged, Breaches: broken}
}

// releaseJudged reports whether a section's release can be judged: the lease was still valid when the release was
// called, and the law's conditions were met until the end of the release (see judgedUntil). acquired is the position at
// which the acquire ended.
func (r *reading) releaseJudged(s *section, acquired int) bool {
	if s.release == r.none {
		return false
	}
	end, seen := r.judgedUntil(s.release, s.done)
	crash := r.firstAfter(s.release-1,
		func(e *history.Event) bool { return e.F == history.Crashed && e.Process == s.process })
	if crash < s.done && r.mayBeOver(s.release, crash, crash) <= end {
		return false
	}
	if !seen || !r.undisturbed(s.ask, end) || !r.quorumFor(s.ask, end, acquired) ||
		!r.grantersReachable(s, end) {
		return false
	}
	return r.time(s.release) < r.leaseEnd(s)
}

func (r *reading) releasedInTime(s *section) bool {
	return s.done < r.none && r.Events[s.done].Type == history.OK && r.time(s.done)-r.time(s.release) <= r.Header.Bound
}

// excused reports whether the release failed within the bound, but after the lease had ended.
func (r *reading) excused(s *section) bool {
	return s.done < r.none && r.Events[s.done].Type == history.Fail &&
		r.time(s.done)-r.time(s.release) <= r.Header.Bound &&
		r.time(s.done) >= r.leaseEnd(s)
}

// leaseEnd returns the end of the lease as it was last reported to the holder before the call to release.
func (r *reading) leaseEnd(s *section) history.Time {
	end := -history.Never
	if s.lease != nil && s.lease.Granted <= r.time(s.release) {
		end = s.lease.Until
	}
	for _, at := range s.extensions {
		if g := r.Events[at].Grant; g.Granted <= r.time(s.release) {
			end = g.Until
		}
	}
	return end
}

// firstAfter returns the position of the first matching event after i.
func (r *reading) firstAfter(i int, matches func(*history.Event) bool) int {
	for j := i + 1; j < r.none; j++ {
		if matches(&r.Events[j]) {
			return j
		}
	}
	return r.none
}

// grantersReachable reports whether a quorum of the servers that granted the lock was reachable. No other server can
// confirm the release. If the grant does not name any servers, or if the servers are in groups, grantersReachable
// returns true.
func (r *reading) grantersReachable(s *section, end int) bool {
	if s.lease == nil || len(s.lease.Counted) == 0 || len(r.Header.Groups) > 0 {
		return true
	}
	var left []history.Process
	for _, p := range s.lease.Counted {
		if r.reachable(s.ask, end, p) {
			left = append(left, p)
		}
	}
	return r.isQuorum(left)
}

// judgedUntil returns the position up to which the conditions for judging a call must be met. If the call returned
// within the bound, this is its return, and seen is true. Otherwise, it is the last event within the bound, and seen
// reports whether the history goes on beyond the bound.
func (r *reading) judgedUntil(call, ret int) (end int, seen bool) {
	due := r.time(call) + r.Header.Bound
	if ret < r.none && r.time(ret) <= due {
		return ret, true
	}
	return r.firstAfter(call-1, func(e *history.Event) bool { return e.Time > due }) - 1, r.end > due
}

// undisturbed reports whether nobody else held or requested the lock from one TTL before a's call until position end.
// An earlier hold by the same client does not count if its release returned ok before a's call and no fault was active
// between that hold's request and a's call. A later request by the same client counts only if it overlaps with a,
// because it then belongs to a different task. If a service with sessions has a single member, and this member
// restarted within that TTL and lost its data, undisturbed returns false.
func (r *reading) undisturbed(a *ask, end int) bool {
	since := r.time(a.call) - r.Header.TTL
	sessions := r.Header.Service.Kind().Sessions
	for _, f := range r.faults {
		if sessions && len(r.Header.Servers) == 1 && f.Loses == history.LosesEverything && f.to < a.call &&
			r.time(f.to) > since {
			return false
		}
	}
	for _, b := range r.asks {
		if b == a || b.lock != a.lock {
			continue
		}
		if b.call > a.call {
			if (b.process != a.process || b.call < a.ret) && b.call <= end {
				return false
			}
			continue
		}
		if r.letGo(b) >= since && !(b.process == a.process && r.gaveBack(b, a.call)) {
			return false
		}
	}
	return true
}

// letGo returns the time at which a client was done with acquire a and its lock. If the acquire was not granted, this
// is when it returned. Otherwise, it is when both the section and its release had ended.
func (r *reading) letGo(a *ask) history.Time {
	if !a.granted() {
		return r.time(a.ret)
	}
	s := a.section
	if s.release == r.none {
		return r.time(s.end)
	}
	if s.done == r.none {
		return r.time(max(s.end, s.release))
	}
	return r.time(max(s.end, s.done))
}

func (r *reading) gaveBack(b *ask, until int) bool {
	if !b.granted() || b.section.done >= until || r.Events[b.section.done].Type != history.OK {
		return false
	}
	for i := range r.faults {
		if f := &r.faults[i]; f.from < until && r.over(f) >= b.call {
			return false
		}
	}
	return true
}

// quorumFor reports whether acquire a could have succeeded between its call and position end. Throughout, the client
// must have been up, not paused, and must have had a session, and a quorum of servers must have been up and reachable
// for it. Until position acquired, at which the acquire ended, there must also have been no key on these servers that
// blocks a.
//
// If the servers are one service (see oneService), its members are counted. Otherwise each group counts as one server,
// which is up while all of the group's members are up and can reach each other.
func (r *reading) quorumFor(a *ask, end, acquired int) bool {
	for i := range r.faults {
		f := &r.faults[i]
		if !r.during(f, a.call, end) || f.kind.IsClock() {
			continue
		}
		onLinkOrDisk := f.kind.IsLink() || f.does() == history.SlowsDisk
		if unknown := len(f.On)+len(f.To) == 0; unknown || !onLinkOrDisk && f.strikes(a.process) {
			return false
		}
	}
	return r.quorumReached(a, end, func(s history.Process) bool { return r.inTheWay(a, acquired, s) })
}

// quorumReached reports whether a's client could reach a quorum of servers at every position between a's call and
// position end. A server for which bars returns true does not count. If the servers are one replicated service,
// quorumReached returns false if bars returns true for any of them.
func (r *reading) quorumReached(a *ask, end int, bars func(history.Process) bool) bool {
	if r.oneService() {
		var left []history.Process
		for _, s := range r.Header.Servers {
			if bars(s) {
				return false
			}
			if r.reachable(a, end, s) {
				left = append(left, s)
			}
		}
		return r.quorumAmong(left, nil, a.call, end)
	}
	groups := r.Header.Groups
	if len(groups) == 0 {
		for _, s := range r.Header.Servers {
			groups = append(groups, []history.Process{s})
		}
	}
	var left []history.Process
	for _, group := range groups {
		serves := true
		for i, s := range group {
			serves = serves && r.reachable(a, end, s) && !bars(s)
			for _, o := range group[:i] {
				serves = serves && !r.parted(s, o, a.call, end)
			}
		}
		if serves {
			left = append(left, group[0])
		}
	}
	return r.isQuorum(left)
}

// quorumAmong reports whether some of the candidates can be added to the chosen servers to form a quorum in which no
// two servers are cut off from each other between the positions call and end. The chosen servers are known not to be.
func (r *reading) quorumAmong(candidates, chosen []history.Process, call, end int) bool {
	if r.isQuorum(chosen) {
		return true
	}
	if len(candidates) == 0 {
		return false
	}
	next := candidates[0]
	fits := !slices.ContainsFunc(chosen, func(o history.Process) bool { return r.parted(next, o, call, end) })
	return fits && r.quorumAmong(candidates[1:], append(slices.Clone(chosen), next), call, end) ||
		r.quorumAmong(candidates[1:], chosen, call, end)
}

// parted reports whether a fault on the link between two servers was active between the positions call and end.
func (r *reading) parted(a, b history.Process, call, end int) bool {
	return slices.ContainsFunc(r.faults, func(f fault) bool {
		across := slices.Contains(f.On, a) && slices.Contains(f.To, b) ||
			slices.Contains(f.On, b) && slices.Contains(f.To, a)
		return across && f.kind.IsLink() && r.during(&f, call, end)
	})
}

// during reports whether f was active at any position between call and end. A server that is down stays down until it
// restarts. If the servers are one service (see oneService), a member that has lost all its data is gone forever.
func (r *reading) during(f *fault, call, end int) bool {
	over := r.over(f)
	if f.kind.IsDown() {
		over = f.to
	}
	if r.oneService() && f.Loses == "everything" {
		over = r.none
	}
	return f.from <= end && over >= call
}

// reachable reports whether a's client could reach server s between a's call and position end. It could if, in that
// time, no link between them was cut, delayed or broken, and no other fault, except one of clocks, struck the server.
func (r *reading) reachable(a *ask, end int, s history.Process) bool {
	for i := range r.faults {
		f := &r.faults[i]
		if !f.strikes(s) || !r.during(f, a.call, end) || f.kind.IsClock() {
			continue
		}
		link := f.kind.IsLink()
		joins := slices.Contains(f.On, a.process) && slices.Contains(f.To, s) ||
			slices.Contains(f.On, s) && slices.Contains(f.To, a.process)
		if !link || joins || len(f.To) == 0 { // if To is empty, the fault may not say which process is on which side
			return false
		}
	}
	return true
}

// inTheWay reports whether a key blocked acquire a on server s, or on another server of the group that shares its keys
// with s. Either the key already existed when a was called, or another process set it between that call and position
// end. A key exists until it is removed or replaced by another key.
func (r *reading) inTheWay(a *ask, end int, s history.Process) bool {
	copies := r.group(s)
	for i := 0; i <= end; i++ {
		e := &r.Events[i]
		if !slices.Contains(copies, e.Process) || e.Lock != a.lock || e.F != history.KeySet {
			continue
		}
		if i >= a.call {
			if r.owner(i) != a.process {
				return true
			}
			continue
		}
		gone := r.firstAfter(i, func(o *history.Event) bool {
			return slices.Contains(copies, o.Process) && o.Lock == a.lock && o.Member == e.Member &&
				(o.F == history.KeySet || o.F == history.KeyGone && o.Of == e.Of)
		})
		if gone >= a.call {
			return true
		}
	}
	return false
}
