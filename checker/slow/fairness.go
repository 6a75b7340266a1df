package slow

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

func init() { register("fairness", (*reading).fairness) }

// fairness compares each grant of a lock with every other acquire of that lock. It also examines each period between
// two events in which the lock was free.
func (r *reading) fairness() Finding {
	if r.Header.Order.Turn == 0 || r.Header.Permits > 1 {
		return Finding{Outcome: Unchecked}
	}
	var broken []Breach
	kept := 0
	for _, s := range r.sections {
		if r.sharedLock(s.lock) {
			continue
		}
		overtaken := slices.IndexFunc(r.asks, func(a *ask) bool { return r.overtakes(s, a) })
		switch {
		case overtaken >= 0:
			a := r.asks[overtaken]
			broken = append(broken, Breach{[]int{a.call, s.call, s.ok}, "overtaken by a later client", r.time(s.ok)})
		case slices.ContainsFunc(r.asks, func(b *ask) bool { return r.staysBehind(s, b) }):
			kept++
		}
	}
	broken = append(broken, r.leftFree()...)
	slices.SortStableFunc(broken, func(a, b Breach) int {
		return cmp.Or(cmp.Compare(r.place(a), r.place(b)), cmp.Compare(a.Broken, b.Broken))
	})
	if kept == 0 {
		return Finding{Outcome: Unchecked, Breaches: broken}
	}
	return Finding{Outcome: Holds, Judged: kept, Breaches: broken}
}

// place returns the position in the history at which the law was broken. This is the position of the grant that
// overtook another client. If the lock was left free instead, it is the position of the last event at or before the
// breach.
func (r *reading) place(b Breach) int {
	if len(b.Events) == 3 && b.Cause == "overtaken by a later client" {
		return b.Events[2]
	}
	return max(0, lastBy(r.History, b.Broken))
}

func (r *reading) sharedLock(lock history.Lock) bool {
	return slices.ContainsFunc(r.asks, func(a *ask) bool { return a.lock == lock && a.shared })
}

// later reports whether acquire b was requested later than acquire a, by more than the slack.
func (r *reading) later(b, a *ask) bool {
	return a.call < b.call && r.time(b.call)-r.time(a.call) > r.Header.Order.Slack
}

// overtakes reports whether a grant went to a process although another process had asked for the lock earlier and was
// still waiting. It returns false if a fault affected the other process.
func (r *reading) overtakes(s *section, a *ask) bool {
	if a.lock != s.lock || a.process == s.process || !r.later(s.ask, a) || a.gone <= s.ok || r.disturbed(a, s.ok) {
		return false
	}
	decided := func(s *section) history.Time {
		if s.lease != nil {
			return s.lease.Granted
		}
		return r.time(s.ok)
	}
	switch {
	case a.granted():
		return decided(a.section) > decided(s)
	case a.outcome != 0:
		return r.time(a.ret)-r.time(s.ok) > r.Header.Order.Slack
	}
	return true
}

// staysBehind reports whether b asked later than s and is still waiting when s is granted. It returns false if a fault
// affected s's process.
func (r *reading) staysBehind(s *section, b *ask) bool {
	return b.lock == s.lock && b.process != s.process && r.later(b, s.ask) && covers(b.call, s.ok, b.gone) &&
		!r.disturbed(s.ask, s.ok)
}

// disturbed reports whether a fault may have affected acquire a by position i. A fault that ended more than one
// Order.Turn before the acquire's call does not count.
func (r *reading) disturbed(a *ask, i int) bool {
	return slices.ContainsFunc(r.faults, func(f fault) bool {
		if !r.mayAffect(&f, a.process) {
			return false
		}
		over := r.over(&f)
		if f.from < a.call {
			return over == r.none || r.time(over) >= r.time(a.call)-r.Header.Order.Turn
		}
		return f.from <= i
	})
}

// mayAffect reports whether a fault may affect process p. It returns false if the fault strikes only the resource and
// other processes that ask for locks, or only links to or from such processes.
func (r *reading) mayAffect(f *fault, p history.Process) bool {
	for _, side := range [][]history.Process{f.On, f.To} {
		others := 0
		for _, o := range side {
			asks := slices.ContainsFunc(r.asks, func(a *ask) bool { return a.process == o })
			if o != p && (o == history.Resource || asks) {
				others++
			}
		}
		if len(side) > 0 && others == len(side) {
			return false
		}
	}
	return true
}

// leftFree examines each period between two events. It finds the times at which a lock had been free for longer than
// Order.Turn while a process was waiting for it.
func (r *reading) leftFree() (broken []Breach) {
	begun := map[*ask]*ask{}
	for _, a := range r.asks {
		begun[a] = r.first(a)
	}
	type stretch struct {
		call  int
		since history.Time
	}
	seen := map[stretch]bool{}
	for i := 0; i < r.none; i++ {
		if r.underFault(i) {
			continue
		}
		for _, lock := range r.locks {
			var w *ask
			for _, a := range r.asks {
				waits := a.lock == lock && covers(begun[a].call, i, a.gone) && !r.cutOff(a.process, i)
				if waits && (w == nil || begun[a].call < w.call) {
					w = begun[a]
				}
			}
			if w == nil || r.held(lock, i) || r.sharedLock(lock) {
				continue
			}
			since := r.time(w.call)
			for _, s := range r.sections {
				if s.lock == lock && s.end <= i {
					since = max(since, r.time(s.end))
				}
			}
			for n := range r.faults {
				if calm := r.calmFrom(&r.faults[n]); calm <= i {
					since = max(since, r.time(calm))
				}
			}
			by := since + r.Header.Order.Turn
			if r.time(i+1) <= by || seen[stretch{w.call, since}] {
				continue
			}
			seen[stretch{w.call, since}] = true
			broken = append(broken, r.freeTooLong(w, by))
		}
	}
	return broken
}

// cutOff reports whether, by position i, a process may have been affected by a fault that never ends.
func (r *reading) cutOff(p history.Process, i int) bool {
	return slices.ContainsFunc(r.faults, func(f fault) bool {
		lasts := f.does() == history.Parts || f.does() == history.PacesClock || f.kind.IsDown()
		return f.to == r.none && !f.Ends && lasts && f.from <= i && r.mayAffect(&f, p)
	})
}

// freeTooLong returns the breach for a lock that, at the time by, had been free for too long while a process was
// waiting for it. w is the first acquire of that wait.
func (r *reading) freeTooLong(w *ask, by history.Time) Breach {
	at := max(0, lastBy(r.History, by))
	b := Breach{[]int{w.call}, "left free while a client waits", by}
	current := w
	for _, a := range r.asks {
		if a.process == w.process && a.lock == w.lock && a.call <= at {
			current = a
		}
	}
	for _, x := range r.asks {
		passed := slices.ContainsFunc(r.sections, func(s *section) bool {
			return s.lock == x.lock && x.gone < s.ok && s.ok <= at && x.call < s.call
		})
		if x.lock == w.lock && x.call < current.call && x.gone <= at && !x.granted() && !passed {
			b.Events, b.Cause = append(b.Events, x.call, x.gone), b.Cause+" (abandoned place)"
			break
		}
	}
	return b
}
