package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/clockerror"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

const LeaseExclusion Law = "lease-exclusion"

func init() {
	register(lawRow{law: LeaseExclusion, place: 1, gravity: 3, kept: Leased,
		says:   "no two leases on one lock are ever valid at the same (true) time",
		broken: "two leases on one lock run at once",
		judge:  (*judge).leaseExclusion, uncertain: clockerror.Windows})
}

// leaseExclusion checks that the validity windows that the lock service grants for one lock never overlap in true time,
// unless they are shared. For a semaphore, there must never be more windows at once than permits.
//
// To judge this law, it must be known when each window begins and ends. The law is unchecked if a grant whose window is
// not recorded may have overlapped another. The law counts as exercised once a lock with a recorded window has had two
// acquires. A single acquire proves nothing, since nobody else requested the lock. For a semaphore, there must be at
// least one more acquire than permits.
func (t *judge) leaseExclusion(f *Finding) {
	windows, exercised := 0, false
	for i := range t.Locks {
		l := &t.Locks[i]
		windows += l.Stated
		exercised = exercised || l.Stated > 0 && len(l.Asks) > t.Permits()
	}
	switch {
	case windows == 0:
		f.unchecked("No grant states when its lease began and ended.")
		return
	case !exercised && t.Permits() > 1:
		f.unchecked(fewAsked)
		return
	case !exercised:
		f.unchecked("One lease was granted, and nobody else asked for its lock.")
		return
	}
	overlaps, more := t.clashes(LeaseExclusion)
	if len(overlaps) == 0 {
		if g := t.undecidedBy(); g != nil && t.History.Header.ClockError == 0 {
			f.unchecked(sentence("The grant of %s to %s at %v does not state how long it was valid, "+
				"so it may have overlapped another.",
				quoted(t.Locks[g.Lock].Name), g.Process, t.Time(g.OK)))
			return
		}
		f.holds(count(windows, "validity window") + ", " + t.neverTogether() + ".")
		return
	}
	for i := range overlaps {
		t.leasesOverlap(f, &overlaps[i])
	}
	f.examined(more)
}

// leasesOverlap reports a clash: two overlapping leases for one lock or, for a semaphore, one more lease than there are
// permits.
func (t *judge) leasesOverlap(f *Finding, c *clash) {
	pair, cause, records := t.decisivePair(c)
	b := t.breach(f, cause, max(c.first.At, c.then.At), t.Locks[c.lock].Name, t.holdersOf(c)...)
	if b == nil {
		return
	}
	t.facts = t.leaseFacts(&pair, records)
	b.violated(t, cause, t.leaseStory(&pair, cause, records)+t.crowdedLeases(c),
		append(t.witness(&pair, records), t.witnessOfCrowd(c)...))
	b.About, b.Unrecorded = t.subjectOf(&pair, records), unrecorded(cause, records)
}

// undecidedBy returns a grant whose window is not recorded and which may have overlapped another grant, or nil if there
// is none. It is called when the recorded windows alone do not break the law.
func (t *judge) undecidedBy() *trace.Grant {
	for n := range t.Locks {
		spans := t.WithUnstated(&t.Locks[n])
		for _, i := range slices.Backward(t.Interval.FirstCrowd(spans, t.Permits())) {
			if g := &t.Grants[spans[i].Grant]; g.Lease == nil {
				return g
			}
		}
	}
	return nil
}

// clashes returns the clashes that break a law, in the order defined by inOrder.
func (t *judge) clashes(law Law) (all []clash, more bool) {
	for n := range t.Locks {
		all = append(all, t.clashesIn(law, n)...)
	}
	return inOrder(all)
}

// inOrder sorts clashes over several locks by the position at which the history records the second span of each. It
// returns at most mostBreaches of them, and reports whether there may be more.
func inOrder(all []clash) (first []clash, more bool) {
	slices.SortStableFunc(all, func(a, b clash) int { return a.then.At - b.then.At })
	return all[:min(len(all), mostBreaches)], len(all) >= mostBreaches
}

// clashesIn returns at most mostBreaches clashes over lock number n. They are sorted by the recorded position of each
// clash's last span, then by the positions of its other spans.
func (t *judge) clashesIn(law Law, n int) (all []clash) {
	spans := t.Locks[n].Windows
	if law == MutualExclusion {
		spans = t.Locks[n].Sections
	}
	groups := t.Interval.Crowds(spans, t.Permits(), mostBreaches)
	if len(groups) > 0 && t.History.Header.ClockError > 0 {
		groups = clockerror.Certain(&t.Trace, spans, mostBreaches, law == MutualExclusion)
	}
	for _, group := range groups {
		all = append(all, crowdOf(law, int32(n), spans, group))
	}
	return all
}
