package slow

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// faultTolerance looks at each acquire, and at its release, together with every fault and every other acquire.
func (r *reading) faultTolerance() Finding {
	if r.Header.Quorum <= 0 || r.Header.Bound <= 0 || len(r.Header.Servers) == 0 {
		return Finding{Outcome: Unchecked}
	}
	outcome := Unchecked
	for _, a := range r.asks {
		end, done := r.judgedUntil(a.call, a.ret)
		if !done || a.crashed || !r.alone(a, end) || !r.quorumFor(a, end, false) {
			continue
		}
		if !a.granted() || r.time(a.ret)-r.time(a.call) > r.Header.Bound {
			if r.quorumFor(a, end, true) {
				return Finding{Outcome: Violated, Events: []int{a.call}, Cause: "not within the bound"}
			}
			continue
		}
		outcome = Holds
		if s := a.section; r.releaseJudged(s) {
			if s.done == r.none || r.Events[s.done].Type != history.OK || r.time(s.done)-r.time(s.release) > r.Header.Bound {
				return Finding{Outcome: Violated, Events: []int{s.release}, Cause: "not within the bound"}
			}
		}
	}
	return Finding{Outcome: outcome}
}

// releaseJudged: the section ended by this release, all went well from the acquire on, and the lease was valid until the
// return, or the bound.
func (r *reading) releaseJudged(s *section) bool {
	if s.end != s.release || s.release == r.none {
		return false
	}
	end, done := r.judgedUntil(s.release, s.done)
	crash := r.after(s.release, func(e *history.Event) bool { return e.F == history.Crashed && e.Process == s.process })
	if !done || s.done == r.none && crash < end || !r.alone(s.ask, end) || !r.quorumFor(s.ask, end, false) || !r.grantersReachable(s, end) {
		return false
	}
	for _, w := range r.windows() {
		if w.section == s && r.Events[w.at].Grant.Until >= min(r.time(s.release)+r.Header.Bound, r.time(s.done)) {
			return true
		}
	}
	return false
}

// grantersReachable: of the servers that the grant counted, where it names them, a quorum was reachable: nobody else can
// confirm the release.
func (r *reading) grantersReachable(s *section, end int) bool {
	if s.lease == nil || len(s.lease.Counted) == 0 || len(r.Header.Shards) > 0 {
		return true
	}
	left := 0
	for _, p := range s.lease.Counted {
		if r.reachable(s.ask, end, p) {
			left++
		}
	}
	return left >= r.Header.Quorum
}

// judgedUntil is the place up to which the conditions must hold: the return, or the first event after the bound.
func (r *reading) judgedUntil(call, ret int) (end int, done bool) {
	due := r.time(call) + r.Header.Bound
	if ret < r.none && r.time(ret) <= due {
		return ret, true
	}
	end = r.after(call-1, func(e *history.Event) bool { return e.Time > due })
	if end = min(end, ret); end < r.none {
		return end, true
	}
	return r.none - 1, r.end > due
}

// alone: nobody held or tried the lock from one TTL before the call until end. What the client itself gave back (its
// release returned ok, and no fault was on since it asked) has left nothing behind.
func (r *reading) alone(a *ask, end int) bool {
	since := r.time(a.call) - r.Header.TTL
	for _, b := range r.asks {
		if b == a || b.lock != a.lock {
			continue
		}
		if b.call > a.call {
			if b.process != a.process && r.time(b.call) <= r.time(end) {
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

// letGo is when a client had nothing more to do with an acquire: the return of its release, or of the acquire if it was
// not granted.
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
	if !b.granted() || b.section.done == r.none || r.Events[b.section.done].Type != history.OK {
		return false
	}
	for i := range r.faults {
		if f := &r.faults[i]; f.from < until && r.over(f) >= b.call {
			return false
		}
	}
	return true
}

// quorumFor: from a's call to end the client was up and unpaused, and so were a quorum of servers, reachable from it; and,
// if free is asked, no key in a's way stood on them. Where there are fewer shards than the quorum, the members of one
// service count; else each shard counts as one, up while all its members are and reach each other.
func (r *reading) quorumFor(a *ask, end int, free bool) bool {
	for i := range r.faults {
		f := &r.faults[i]
		if strikes := !slices.Contains([]history.F{"jump", "drift", "cut", "delay", "delay message", "break", "slow fsync"}, f.kind); strikes && f.strikes(a.process) && r.during(f, a.call, end) {
			return false
		}
	}
	oneService := len(r.Header.Shards) > 0 && len(r.Header.Shards) < r.Header.Quorum
	units := r.Header.Shards
	if len(units) == 0 || oneService {
		units = nil
		for _, s := range r.Header.Servers {
			units = append(units, []history.Process{s})
		}
	}
	left, blocked := 0, false
	for _, unit := range units {
		serves := true
		for _, s := range unit {
			blocked = blocked || free && r.inTheWay(a, end, s)
			serves = serves && r.reachable(a, end, s) && !(free && r.inTheWay(a, end, s))
		}
		if serves {
			left++
		}
	}
	return left >= r.Header.Quorum && !(oneService && blocked)
}

// during reports whether f was on at any place from call to end. What is down stays down until it restarts; a member of
// one service that has lost all it knew does for good.
func (r *reading) during(f *fault, call, end int) bool {
	over := r.over(f)
	if f.kind == "crash" || f.kind == "shut down" {
		over = f.to
	}
	if oneService := len(r.Header.Shards) > 0 && len(r.Header.Shards) < r.Header.Quorum; oneService && f.Loses == "everything" {
		over = r.none
	}
	return f.from <= end && over >= call
}

func (r *reading) reachable(a *ask, end int, s history.Process) bool {
	for i := range r.faults {
		f := &r.faults[i]
		if !f.strikes(s) || !r.during(f, a.call, end) || f.kind == "jump" || f.kind == "drift" {
			continue
		}
		if !slices.Contains([]history.F{"cut", "delay", "delay message", "break"}, f.kind) || r.parts(f, a.process, s) {
			return false
		}
	}
	return true
}

// parts: a fault of a link parts client and server if they are its two ends; if it lies between servers, the smaller side
// is parted from the rest.
func (r *reading) parts(f *fault, client, s history.Process) bool {
	left, right := f.On, f.To
	is := func(side []history.Process, p history.Process) bool { return slices.Contains(side, p) }
	switch {
	case len(right) == 0:
		return true // it is not said who is on which side
	case is(left, client):
		return is(right, s)
	case is(right, client):
		return is(left, s)
	}
	member := func(p history.Process) bool {
		return is(r.Header.Servers, p) || slices.ContainsFunc(r.Header.Shards, func(shard []history.Process) bool { return is(shard, p) })
	}
	if !slices.ContainsFunc(left, member) || !slices.ContainsFunc(right, member) {
		return false
	}
	if len(right) < len(left) {
		left = right
	}
	return is(left, s)
}

// inTheWay: on server s a key other than a's own stood at a's call, or was set until end.
func (r *reading) inTheWay(a *ask, end int, s history.Process) bool {
	there := false
	for i := range end {
		e := &r.Events[i]
		if e.Process != s || e.Lock != a.lock {
			continue
		}
		process, _, _ := strings.Cut(string(e.Of), "/")
		switch {
		case e.F == history.KeyGone && i < a.call:
			there = false
		case e.F == history.KeySet && (i < a.call || process != string(a.process)):
			there = true
		}
	}
	return there
}
