package checker

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// neverRenewed reports whether a holder outlived its lease because nobody asked for an extension: its work took longer
// than the lease lasts, and no request extended the key although no fault prevented one. It is false if the lease was
// over when it was granted, since then there was nothing to renew.
func (t *judge) neverRenewed(l lateness) bool {
	g := &t.Grants[l.grant]
	left := min(l.left, g.End) // the late act may be the effect of an earlier request
	if g.Lease == nil || l.ended <= g.Lease.Granted || t.Time(left)-t.Time(g.OK) <= l.ended-g.Lease.Since {
		return false
	}
	return t.unasked(l.grant, left, l.ended)
}

// unasked reports whether it is known that no extension of a grant was requested before a position. This is known if
// the servers recorded the grant's key, and so would have recorded a request that extended it, and if no fault could
// have delayed such a request before the lease had ended.
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

// strikesServers reports whether a fault strikes a lock server or one of its links.
func (t *judge) strikesServers(f *trace.Fault) bool {
	for _, s := range t.History.Header.Servers {
		if f.Strikes(s) {
			return true
		}
	}
	return false
}
