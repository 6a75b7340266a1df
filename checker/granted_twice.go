package checker

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// grantedTwice completes a record if the two grants do not each have a key of their own: if both took elements out of a
// list, or if both depend on the same key.
func (t *judge) grantedTwice(c *clash, u history.Process, r *record) {
	if r.set[0] < 0 && r.set[1] < 0 {
		t.tookTwo(c, u, r)
		return
	}
	if r.set[0] != r.set[1] && !t.shareKey(c, u, r) {
		return
	}
	r.at, r.cause = r.set[0], Cause{Kind: GrantedTwice}
	if c.then.At < c.first.At {
		r.victim = 1
	}
}

// tookTwo completes a record if both grants depend on elements that were taken out of a list.
func (t *judge) tookTwo(c *clash, u history.Process, r *record) {
	took := [2]int{t.lastTaken(&c.first, u), t.lastTaken(&c.then, u)}
	if min(took[0], took[1]) < 0 {
		return
	}
	r.set, r.at, r.cause = took, max(took[0], took[1]), Cause{Kind: GrantedTwice}
	if took[1] < took[0] {
		r.victim = 1
	}
}

// lastTaken returns the position at which the attempt of window s last took a key of the lock from server u (or its
// group of replicas) before the window. It returns -1 if the attempt took none.
func (t *judge) lastTaken(s *trace.Span, u history.Process) int {
	g := &t.Grants[s.Grant]
	if g.Attempt == "" {
		return -1
	}
	return t.LastTaken(g.Attempt, t.Locks[g.Lock].Name, u, s.At)
}

// shareKey reports whether two grants of one client depend on the same key: the attempt of one grant set the key, and
// the key still existed at the time of the other grant. If so, shareKey completes the record.
func (t *judge) shareKey(c *clash, u history.Process, r *record) bool {
	set, s := r.set[0], &c.then
	if set < 0 {
		set, s = r.set[1], &c.first
	}
	if t.Grants[c.first.Grant].Process != t.Grants[c.then.Grant].Process || set > s.At || t.lastTaken(s, u) >= 0 {
		return false
	}
	stands := true
	for i := set; i < s.At; i++ {
		if e := &t.History.Events[i]; e.Of == t.History.Events[set].Of && t.isKeyOf(e, c.lock, u) {
			stands = e.F == history.KeySet || stands && e.F != history.KeyGone
		}
	}
	if stands {
		r.set = [2]int{set, set}
	}
	return stands
}

// coexists reports whether the victim's key was still there when the other key was set, so that both existed at once.
// This is normal for a service with one replicated log, where clients that wait have keys, too.
func (t *judge) coexists(r *record) bool {
	victim, other, h := &t.History.Events[r.set[r.victim]], &t.History.Events[r.set[1-r.victim]], &t.History.Header
	if h.OneService() || h.Service.Kind().OneLog {
		return false
	}
	return victim.Process == other.Process && victim.Member != other.Member && (t.Expiries || other.Time < r.stood)
}
