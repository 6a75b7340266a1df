package checker

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// neverRenewed reports whether a holder outlived its lease because nobody requested an extension. Two conditions must
// hold. The holder's work took longer than any lease of this lock so far. And it is certain that nobody requested an
// extension (see unasked). If the lease had already ended when it was granted, neverRenewed returns false, because
// there was nothing left to renew.
func (t *judge) neverRenewed(l lateness) bool {
	g := &t.Grants[l.grant]
	left := min(l.left, g.End) // the late action may be the effect of an earlier request
	if g.Lease == nil || l.ended <= g.Lease.Granted {
		return false
	}
	lasts := max(l.ended-g.Lease.Since, t.longestLease(g))
	return t.Time(left)-t.Time(g.OK) > lasts && t.unasked(l.grant, left, l.ended)
}

// longestLease returns the longest validity among the given grant of a lock and all earlier grants of this lock. The
// grant's own validity may be shorter than usual, because its end may be calculated from a time long before its request
// was sent. In that case, work may outlast the lease without taking longer than usual.
func (t *judge) longestLease(of *trace.Grant) (longest history.Time) {
	for _, n := range t.Locks[of.Lock].Grants {
		g := &t.Grants[n]
		if g.Lease != nil && g.Lease.Until != history.Never && g.OK <= of.OK {
			longest = max(longest, g.Lease.Until-g.Lease.Since)
		}
	}
	return longest
}

// unasked reports whether it is certain that nobody requested an extension of grant n before the given position. There
// must be no record of an extension. The servers must have recorded the grant's key, because they would then have
// recorded an extension, too. And no fault may have delayed a request for an extension before the lease ended.
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
