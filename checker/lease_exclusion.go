package checker

import (
	"slices"

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

// leaseExclusion judges the lock service's promise that the validity windows it grants for one lock never overlap in
// true time, except shared ones.
//
// The law needs grants that state granted and until. It is unchecked if a grant without them may have overlapped
// another. It counts as exercised once a lock had two windows, or one window and another acquire that could have been
// granted. A single grant that nobody else asked for shows nothing.
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
	overlaps, more := t.clashes(LeaseExclusion)
	if len(overlaps) == 0 {
		if g := t.undecidedBy(); g != nil && t.History.Header.ClockError == 0 {
			f.unchecked(sentence("The grant of %s to %s at %v does not state until when it was valid, and that would "+
				"decide whether it overlapped another.",
				quoted(t.Locks[g.Lock].Name), g.Process, t.Time(g.OK)))
			return
		}
		f.holds(count(windows, "window") + " of validity, no two of one lock overlapped.")
		return
	}
	for i := range overlaps {
		t.leasesOverlap(f, &overlaps[i])
	}
	f.examined(more)
}

// leasesOverlap reports two windows of one lock that overlap.
func (t *judge) leasesOverlap(f *Finding, c *clash) {
	cause, records := t.decide(c)
	b := t.breach(f, cause, max(c.first.At, c.then.At), t.Locks[c.lock].Name, t.holdersOf(c)...)
	if b == nil {
		return
	}
	t.facts = t.leaseFacts(c, records)
	b.violated(t, cause, t.leaseStory(c, cause, records), t.witness(c, records))
	b.About, b.Unrecorded = t.about(c, records), unrecorded(cause, records)
}

// undecidedBy returns a grant whose window is not stated and may have overlapped another; nil if there is none. No two
// stated windows overlap when it is called.
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

// clashes returns the pairs of spans that contradict a law, in the order of inOrder.
func (t *judge) clashes(law Law) (all []clash, more bool) {
	for n := range t.Locks {
		all = append(all, t.clashesIn(law, n)...)
	}
	return inOrder(all)
}

// inOrder sorts clashes of several locks by the events that state their second spans. It returns at most mostBreaches
// of them, and reports whether there may be more.
func inOrder(all []clash) (first []clash, more bool) {
	slices.SortStableFunc(all, func(a, b clash) int { return a.then.At - b.then.At })
	return all[:min(len(all), mostBreaches)], len(all) >= mostBreaches
}

// clashesIn returns the clashes of a lock, in the order in which the history states their second spans and then their
// first ones; at most mostBreaches.
func (t *judge) clashesIn(law Law, n int) (all []clash) {
	spans := t.Locks[n].Windows
	if law == MutualExclusion {
		spans = t.Locks[n].Sections
	}
	pairs := t.Interval.Clashes(spans, mostBreaches)
	if len(pairs) > 0 && t.History.Header.ClockError > 0 {
		pairs = clockerror.Certain(&t.Trace, spans, pairs, law == MutualExclusion)
	}
	for _, p := range pairs {
		all = append(all, clash{law: law, lock: int32(n), first: spans[p[0]], then: spans[p[1]]})
	}
	return all
}
