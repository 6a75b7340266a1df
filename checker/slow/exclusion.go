package slow

import "github.com/fencepost-sim/fencepost/checker/history"

// window is a piece of validity, [from, to) in true time, stated by the event at place at.
type window struct {
	*section
	from, to history.Time
	at       int
}

// windows lists every piece of every grant, in the order of the events that state them.
func (r *reading) windows() (all []window) {
	for i := range r.Events {
		e := &r.Events[i]
		if e.Grant == nil || e.Type != history.OK {
			continue
		}
		for _, s := range r.sections {
			isOwn := e.F == history.Acquire && i == s.ok || e.F == history.Extend && s.attempt != "" && e.Attempt == s.attempt && i > s.ok
			if !isOwn {
				continue
			}
			w := window{s, e.Grant.Granted, e.Grant.Until, i}
			if s.release < r.none { // the release call ends it, and what is granted after it is no lease
				called := r.time(s.release)
				if i > s.release && w.from >= called {
					continue
				}
				w.to = min(w.to, called)
			}
			w.to = max(w.to, w.from+1) // never less than the instant granted
			all = append(all, w)
		}
	}
	return all
}

func (r *reading) leaseExclusion() Finding {
	windows := r.windows()
	if !r.exercised(func(s *section) bool { return s.lease != nil }) {
		return Finding{Outcome: Unchecked}
	}
	for j, b := range windows {
		for _, a := range windows[:j] {
			if overlap(&a, &b) {
				return Finding{Outcome: Violated, Events: []int{a.at, b.at}, Cause: r.cause(&a, &b)}
			}
		}
	}
	return Finding{Outcome: Holds}
}

func overlap(a, b *window) bool {
	return a.section != b.section && a.lock == b.lock && !(a.shared && b.shared) && a.from < b.to && b.from < a.to
}

// exercised reports whether a lock was granted (in a way that matters) and somebody else could have got in.
func (r *reading) exercised(matters func(*section) bool) bool {
	for _, s := range r.sections {
		if !matters(s) {
			continue
		}
		for _, a := range r.asks {
			if a != s.ask && a.lock == s.lock {
				return true
			}
		}
	}
	return false
}

func (r *reading) mutualExclusion() Finding {
	if !r.exercised(func(*section) bool { return true }) {
		return Finding{Outcome: Unchecked}
	}
	for j, b := range r.sections {
		for _, a := range r.sections[:j] {
			if a.lock == b.lock && !(a.shared && b.shared) && b.ok < a.end {
				return Finding{Outcome: Violated, Events: []int{a.ok, b.ok}, Cause: r.sectionCause(a, b)}
			}
		}
	}
	return Finding{Outcome: Holds}
}

// sectionCause is the cause of the leases if those overlap too. Else somebody outlived a lease; by what is not asked here.
func (r *reading) sectionCause(a, b *section) string {
	if a.lease == nil || b.lease == nil {
		return "not told by the history"
	}
	windows := r.windows()
	for j, y := range windows {
		for _, x := range windows[:j] {
			if (x.section == a && y.section == b || x.section == b && y.section == a) && overlap(&x, &y) {
				return r.cause(&x, &y)
			}
		}
	}
	return "holder outlived its lease"
}
