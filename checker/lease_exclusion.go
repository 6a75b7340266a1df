package checker

import (
	"github.com/fencepost-sim/fencepost/checker/clockerror"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

const LeaseExclusion Law = "lease-exclusion"

func init() {
	register(lawRow{law: LeaseExclusion, place: 1, gravity: 3, kept: Leased,
		says:   "granted validity windows of one lock never overlap in true time",
		broken: "two leases on one lock run at once",
		judge:  (*judge).leaseExclusion, uncertain: clockerror.Windows})
}

// leaseExclusion judges the lock service's promise: the granted validity windows of one lock never overlap in true
// time, shared ones aside.
//
// It needs grants that carry granted and until; where one that does not may have overlapped another, it is unchecked.
// It counts as exercised once a lock had two windows, or one window and another acquire that could have got in: a lone
// grant that nobody else asked for shows nothing.
func (t *judge) leaseExclusion(f *Finding) {
	windows, exercised := 0, false
	for i := range t.Locks {
		l := &t.Locks[i]
		windows += l.Stated
		exercised = exercised || l.Stated > 0 && len(l.Asks) > 1
	}
	switch {
	case windows == 0:
		f.unchecked("No grant states when its lease was granted and until when it was valid.")
		return
	case !exercised:
		f.unchecked("One lease was granted and nobody else asked for its lock.")
		return
	}
	c, found := t.firstClash(LeaseExclusion)
	if !found {
		if g := t.undecidedBy(); g != nil && t.History.Header.ClockError == 0 {
			f.unchecked(sentence("The grant of %s to %s at %v does not state until when it was valid, and that would "+
				"decide whether it overlapped another.",
				quoted(t.Locks[g.Lock].Name), g.Process, t.Time(g.OK)))
			return
		}
		f.holds(count(windows, "window") + " of validity, no two of one lock overlapped.")
		return
	}
	cause, records := t.decide(&c)
	f.violated(t, cause, t.leaseStory(&c, cause, records), t.witness(&c, records), t.Locks[c.lock].Name,
		t.holdersOf(&c)...)
	f.About, f.Unrecorded = t.about(&c, records), unrecorded(cause, records)
	f.At = t.History.Events[max(c.first.At, c.then.At)].Index
}

// undecidedBy finds a grant whose window is not stated and may have overlapped another, nil if there is none. No two
// stated windows overlap.
func (t *judge) undecidedBy() *trace.Grant {
	for n := range t.Locks {
		spans := t.WithUnstated(&t.Locks[n])
		if i, j, clashes := t.Interval.First(spans); clashes {
			if g := &t.Grants[spans[j].Grant]; g.Lease == nil {
				return g
			}
			return &t.Grants[spans[i].Grant]
		}
	}
	return nil
}

// firstClash returns, over all locks, the clash whose second span the history states first.
func (t *judge) firstClash(law Law) (best clash, found bool) {
	for n := range t.Locks {
		if c, clashes := t.clashIn(law, n); clashes && (!found || c.then.At < best.then.At) {
			best, found = c, true
		}
	}
	return best, found
}

// clashIn returns the clash of a lock whose second span the history states first.
func (t *judge) clashIn(law Law, n int) (clash, bool) {
	spans := t.Locks[n].Windows
	if law == MutualExclusion {
		spans = t.Locks[n].Sections
	}
	i, j, clashes := t.Interval.First(spans)
	if clashes && t.History.Header.ClockError > 0 {
		i, j, clashes = clockerror.First(&t.Trace, spans, law == MutualExclusion)
	}
	if !clashes {
		return clash{}, false
	}
	return clash{law: law, lock: int32(n), first: spans[i], then: spans[j]}, true
}
