package slow

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// deadlockFreedom looks at every stretch of time between two events after the last fault: which locks nobody gets on
// with, and how long each waiter has been waiting for one of them without anybody acquiring it.
func (r *reading) deadlockFreedom() Finding {
	limit := r.Header.TTL + r.Header.Hold + r.Header.Slack
	if limit <= 0 || len(r.asks) == 0 {
		return Finding{Outcome: Unchecked}
	}
	calm := -1
	for i := range r.faults {
		over := r.over(&r.faults[i])
		if over == r.none {
			return Finding{Outcome: Undecided}
		}
		calm = max(calm, over)
	}
	if a := r.stuckTooLong(calm, limit); a != nil {
		return Finding{Outcome: Violated, Events: []int{a.call}}
	}
	return r.progress(calm)
}

// stuckTooLong goes from stretch to stretch: the one after place i lasts from its event's time to the next one's. An
// uncapped hold begins to count as stuck in the middle of one, which is then looked at in two parts.
func (r *reading) stuckTooLong(calm int, limit history.Time) *ask {
	since := map[*ask]history.Time{}
	for i := calm; i < r.none; i++ {
		from, to := history.Time(0), r.time(min(i+1, r.none))
		if i >= 0 {
			from = r.time(i)
		}
		cuts := []history.Time{from, to}
		for _, s := range r.sections {
			if cut := r.time(s.ok) + r.Header.Hold; r.Header.Uncapped && from < cut && cut < to {
				cuts = append(cuts, cut)
			}
		}
		slices.Sort(cuts)
		for n := range cuts[1:] {
			still := r.standingStill(i, cuts[n])
			var first *ask
			for _, a := range r.asks {
				if !is(a.call, i, a.ret) || !still[a.lock] {
					delete(since, a)
				} else if _, was := since[a]; !was || n == 0 && r.moves(i, a.lock) {
					since[a] = cuts[n]
				}
				if start, waits := since[a]; waits && cuts[n+1]-start > limit && (first == nil || start < since[first]) {
					first = a
				}
			}
			if first != nil {
				return first
			}
		}
	}
	return nil
}

// moves reports whether by the event at place i the lock is acquired, or left by a holder alive: it has got on.
func (r *reading) moves(i int, lock history.Lock) bool {
	for _, s := range r.sections {
		if s.lock == lock && (s.ok == i || s.end == i && i >= 0 && r.Events[i].F != history.Crashed) {
			return true
		}
	}
	return false
}

// is reports whether what began at place from and ends at place to is going on just after place i.
func is(from, i, to int) bool { return from <= i && i < to }

// standingStill is the greatest set of locks each of whose holders, just after place i, is stuck: waits for a lock of
// the set, or holds without cap for longer than declared. Those who crashed are no holders any more.
func (r *reading) standingStill(i int, now history.Time) map[history.Lock]bool {
	still := map[history.Lock]bool{}
	for _, l := range r.locks {
		still[l] = true
	}
	for changed := true; changed; {
		changed = false
		for _, s := range r.sections {
			if !is(s.ok, i, s.end) || !still[s.lock] {
				continue
			}
			stuck := r.Header.Uncapped && now >= r.time(s.ok)+r.Header.Hold
			for _, a := range r.asks {
				stuck = stuck || a.process == s.process && is(a.call, i, a.ret) && still[a.lock]
			}
			if !stuck {
				still[s.lock], changed = false, true
			}
		}
	}
	return still
}

// progress is undecided while somebody waits, and holds once every lock was acquired after the last fault.
func (r *reading) progress(calm int) Finding {
	outcome := Holds
	for _, l := range r.locks {
		tried, acquired := false, false
		for _, a := range r.asks {
			if a.lock != l {
				continue
			}
			if a.ret == r.none {
				return Finding{Outcome: Undecided}
			}
			tried = tried || a.ret > calm
			acquired = acquired || a.ret > calm && a.granted()
		}
		switch {
		case tried && !acquired:
			outcome = Undecided
		case !tried && outcome == Holds:
			outcome = Unchecked
		}
	}
	return Finding{Outcome: outcome}
}
