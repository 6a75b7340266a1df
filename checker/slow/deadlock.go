package slow

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

func init() { register("deadlock-freedom", (*reading).deadlockFreedom) }

// deadlockFreedom judges whether any client was stuck: whether it waited for longer than the TTL, Hold and Slack
// together, while its lock made no progress and no fault was in progress.
func (r *reading) deadlockFreedom() Finding {
	limit := r.Header.TTL + r.Header.Hold + r.Header.Slack
	if limit <= 0 || len(r.asks) == 0 && !r.probed() {
		return Finding{Outcome: Unchecked}
	}
	if broken := r.stuckTooLong(limit); len(broken) > 0 {
		return Finding{Outcome: Violated, Breaches: broken}
	}
	if r.done() {
		return Finding{Outcome: Holds, Judged: len(r.locks)}
	}
	return Finding{Outcome: Undecided}
}

// probed reports whether the run was meant to end with a probe, which requests each lock once more.
func (r *reading) probed() bool { return slices.Contains(r.Header.Clients, history.Probe) }

// calmFrom returns the position from which waiting time counts again after fault f. This is usually the end of the
// fault. A drift that never ends does not stop the count at all, so calmFrom returns its beginning. The same is true of
// a cut that never ends, if the header specifies the servers and the quorum. If it does not, it is not known whether
// the cut leaves a quorum, and time never counts again.
func (r *reading) calmFrom(f *fault) int {
	if f.to == r.none && !f.Ends && (f.does() == history.PacesClock ||
		f.does() == history.Parts && r.Header.Quorum > 0 && len(r.Header.Servers) > 0) {
		return f.from
	}
	return r.over(f)
}

// first returns the acquire at which acquire a's wait began. A waiter that gave up and asked again within a TTL is
// considered to have waited without interruption.
func (r *reading) first(a *ask) *ask {
	first := a
	for _, b := range r.asks {
		if !b.sameTask(a) || b.lock != a.lock || b.outcome != history.Fail && b.outcome != history.Info ||
			b.ret >= a.call {
			continue
		}
		between := slices.ContainsFunc(r.asks, func(c *ask) bool {
			return c.sameTask(a) && c.lock == a.lock && b.ret < c.call && c.call < a.call
		})
		if !between && r.time(a.call)-r.time(b.ret) <= r.Header.TTL {
			if o := r.first(b); o.call < first.call {
				first = o
			}
		}
	}
	return first
}

// stuckTooLong returns a breach for each time at which a waiter began to be stuck for too long. It examines each period
// between two successive events. If an endless hold begins to count as stuck during a period, it examines the two parts
// of the period separately. The first breach by a waiter that still had a quorum, if any, is moved to the front of the
// result.
func (r *reading) stuckTooLong(limit history.Time) (broken []Breach) {
	begun := map[*ask]*ask{}
	for _, a := range r.asks {
		begun[a] = r.first(a)
	}
	since := map[*ask]history.Time{}
	type stretch struct {
		call  int
		since history.Time
	}
	seen := map[stretch]bool{}
	for i := 0; i < r.none; i++ {
		cuts := []history.Time{r.time(i), r.time(i + 1)}
		for _, s := range r.sections {
			if cut := r.time(s.ok) + r.Header.Hold; cuts[0] < cut && cut < cuts[1] && r.endless(s) {
				cuts = append(cuts, cut)
			}
		}
		slices.Sort(cuts)
		for n := range cuts[1:] {
			still := r.standingStill(i, cuts[n], begun)
			if r.underFault(i) {
				clear(since)
				continue
			}
			var late []*ask
			for _, a := range r.asks {
				if !covers(begun[a].call, i, a.gone) || !still[a.lock] {
					delete(since, a)
				} else if _, was := since[a]; !was || n == 0 && (r.moves(i, a.lock) || r.faultAtOnce(i)) {
					since[a] = cuts[n]
				}
				if start, waits := since[a]; waits && cuts[n+1]-start > limit {
					late = append(late, a)
				}
			}
			slices.SortFunc(late, func(a, b *ask) int {
				return cmp.Or(cmp.Compare(since[a], since[b]), begun[a].call-begun[b].call)
			})
			for _, a := range late {
				if s := (stretch{begun[a].call, since[a]}); !seen[s] {
					seen[s] = true
					broken = append(broken,
						Breach{[]int{s.call}, r.stuckBehind(a, i, begun, s.since+limit), s.since + limit})
				}
			}
		}
	}
	if i := slices.IndexFunc(broken, func(b Breach) bool { return b.Cause != noQuorumLeft }); i > 0 {
		first := broken[i]
		broken = slices.Insert(slices.Delete(broken, i, i+1), 0, first)
	}
	return broken
}

const noQuorumLeft = "no quorum left"

// stuckBehind returns the cause for which acquire a was stuck after position i, or "stuck" if it finds no other cause.
// by is the time at which a had waited for too long. begun maps each acquire to the one at which its wait began (see
// first).
func (r *reading) stuckBehind(a *ask, i int, begun map[*ask]*ask, by history.Time) string {
	root, circle := r.root(a, i, begun)
	switch {
	case !r.quorumLeft(root.process, i):
		return noQuorumLeft
	case circle || r.held(root.lock, i):
		return "stuck"
	}
	return cmp.Or(r.blockedBy(root, by), "stuck")
}

// held reports whether any process is holding the lock just after position i.
func (r *reading) held(lock history.Lock, i int) bool {
	return slices.ContainsFunc(r.sections, func(s *section) bool { return s.lock == lock && covers(s.ok, i, s.end) })
}

// root returns the acquire that ultimately blocks acquire a after position i. If the holder of a's lock is itself
// waiting for another lock, root follows that wait, and so on. If the holder is not waiting, root returns a itself.
// circle reports whether the waits form a cycle. begun is as in stuckBehind.
func (r *reading) root(a *ask, i int, begun map[*ask]*ask) (last *ask, circle bool) {
	seen := map[*ask]bool{}
	for !seen[a] {
		seen[a] = true
		var next *ask
		for _, s := range r.sections {
			for _, b := range r.asks {
				if s.lock == a.lock && covers(s.ok, i, s.end) &&
					b.sameTask(s.ask) && covers(begun[b].call, i, b.gone) &&
					(next == nil || begun[b].call < begun[next].call) {
					next = b
				}
			}
		}
		if next == nil {
			return a, false
		}
		a = next
	}
	return a, true
}

// quorumLeft reports whether process p still has a quorum of servers at position i. Servers that are gone or cut off
// for good do not count.
func (r *reading) quorumLeft(p history.Process, i int) bool {
	if len(r.Header.Servers) == 0 {
		return true
	}
	rest := *r
	rest.faults = nil
	for _, f := range r.faults {
		forGood := f.to == r.none && !f.Ends && (f.kind.IsDown() || f.does() == history.Parts) ||
			r.oneService() && f.Loses == history.LosesEverything
		if forGood && f.from <= i && len(f.On)+len(f.To) > 0 && (f.kind.IsLink() || !f.strikes(p)) {
			rest.faults = append(rest.faults, f)
		}
	}
	return rest.quorumReached(&ask{process: p, call: i}, i, func(history.Process) bool { return false })
}

func (r *reading) underFault(i int) bool {
	return slices.ContainsFunc(r.faults, func(f fault) bool { return covers(f.from, i, r.calmFrom(&f)) })
}

// faultAtOnce reports whether waiting time starts counting again at position i, after a fault. See calmFrom.
func (r *reading) faultAtOnce(i int) bool {
	return slices.ContainsFunc(r.faults, func(f fault) bool { return r.calmFrom(&f) == i })
}

// endless reports whether a hold lasts until its holder ends it, either because it is extended without limit, or
// because the servers' last record of its key shows no expiry.
func (r *reading) endless(s *section) bool {
	if r.Header.Uncapped {
		return true
	}
	never := false
	for i := range r.Events {
		e := &r.Events[i]
		if (e.F == history.KeySet || e.F == history.KeyProlonged) && e.Lock == s.lock && e.Of == s.attempt &&
			e.Of != "" {
			never = e.Until == history.Never
		}
	}
	return never
}

// moves reports whether the event at position i is progress for the lock, that is, whether the lock is acquired or a
// holder leaves its section without crashing.
func (r *reading) moves(i int, lock history.Lock) bool {
	for _, s := range r.sections {
		if s.lock == lock && (s.ok == i || s.end == i && !s.crashed) {
			return true
		}
	}
	return false
}

// covers reports whether an interval that begins at position from and ends at position to is in progress just after
// position i.
func covers(from, i, to int) bool { return from <= i && i < to }

// standingStill returns the largest set of locks whose holders are all stuck just after position i. A holder is stuck
// if it is waiting for a lock in the set. It is also stuck if its hold is endless and has lasted longer than the hold
// declared in the header. Crashed processes no longer count as holders.
func (r *reading) standingStill(i int, now history.Time, begun map[*ask]*ask) map[history.Lock]bool {
	still := map[history.Lock]bool{}
	for _, l := range r.locks {
		still[l] = true
	}
	for changed := true; changed; {
		changed = false
		for _, s := range r.sections {
			if !covers(s.ok, i, s.end) || !still[s.lock] {
				continue
			}
			stuck := now >= r.time(s.ok)+r.Header.Hold && r.endless(s)
			for _, a := range r.asks {
				stuck = stuck || a.sameTask(s.ask) && covers(begun[a].call, i, a.gone) && still[a.lock]
			}
			if !stuck {
				still[s.lock], changed = false, true
			}
		}
	}
	return still
}

// done reports whether the run ended well: the last fault is over, no client is waiting or working, and each lock has
// been acquired since that fault. If the run was meant to end with a probe, only the probe's acquires count.
func (r *reading) done() bool {
	calm := -1
	for i := range r.faults {
		calm = max(calm, r.calmFrom(&r.faults[i]))
	}
	if calm == r.none {
		return false
	}
	for _, a := range r.asks {
		if a.ret == r.none || a.granted() && a.section.end == r.none && a.process != history.Probe {
			return false
		}
	}
	for _, l := range r.locks {
		acquired := slices.ContainsFunc(r.asks, func(a *ask) bool {
			return a.lock == l && a.granted() && a.ret > calm && (a.process == history.Probe || !r.probed())
		})
		if !acquired {
			return false
		}
	}
	return true
}
