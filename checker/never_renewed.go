package checker

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// neverRenewed reports whether a holder outlived its lease because nobody requested an extension. This is the case if
// its work took longer than any lease of this lock so far, and no request extended the key even though no fault could
// have prevented it. neverRenewed returns false if the lease had already ended when it was granted, because there was
// nothing left to renew.
func (t *judge) neverRenewed(l lateness) bool {
	g := &t.Grants[l.grant]
	left := min(l.left, g.End) // the late action may be the effect of an earlier request
	if g.Lease == nil || l.ended <= g.Lease.Granted {
		return false
	}
	lasts := max(l.ended-g.Lease.Since, t.longestLease(g))
	return t.Time(left)-t.Time(g.OK) > lasts && t.unasked(l.grant, left, l.ended)
}

// longestLease returns the longest validity of any lease of a lock, up to the time of a grant. The grant's own lease
// may be shorter than usual, because its end was calculated from a time long before its request was sent. In that case,
// work may outlast the lease without taking longer than usual.
func (t *judge) longestLease(of *trace.Grant) (longest history.Time) {
	for _, n := range t.Locks[of.Lock].Grants {
		g := &t.Grants[n]
		if g.Lease != nil && g.Lease.Until != history.Never && g.OK <= of.OK {
			longest = max(longest, g.Lease.Until-g.Lease.Since)
		}
	}
	return longest
}

// unasked reports whether it is certain that nobody requested an extension of a grant before the given position. It is
// certain if the servers recorded the grant's key, so that they would have recorded an extension too, and if no fault
// could have delayed a request for an extension before the lease ended.
func (t *judge) unasked(n int32, before int, ended history.Time) bool {
	g := &t.Grants[n]
	before = min(before, len(t.History.Events))
	for i := range t.Faults {
		f := &t.Faults[i]
		if t.Time(f.Start) < ended && f.Over() > g.OK && (f.Strikes(g.Process) || t.strikesServers(f)) {
			return false
		}
	}
	recorded := false
	for i := range t.History.Events[:before] {
		e := &t.History.Events[i]
		switch {
		case e.F == history.Extend && e.Process == g.Process && i > g.OK && t.isOf(e, n):
			return false
		case e.Lock != t.Locks[g.Lock].Name || e.Of != g.Attempt:
		case e.F == history.KeySet && i < g.OK:
			recorded = true
		case e.F == history.KeySet, e.F == history.KeyProlonged && i > g.OK && e.By != "":
			return false
		}
	}
	return recorded
}

// strikesServers reports whether a fault affects a lock server or one of its links.
func (t *judge) strikesServers(f *trace.Fault) bool {
	for _, s := range t.History.Header.Servers {
		if f.Strikes(s) {
			return true
		}
	}
	return false
}
