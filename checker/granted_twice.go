package checker

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// grantedTwice completes the record r of two grants that do not have one key each. Either both grants' attempts took
// elements out of a list, or both grants depend on the same key.
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

// tookTwo completes a record if each grant depends on an element that its attempt took out of a list.
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

// lastTaken returns the last position before window s at which the window's attempt took one of the lock's keys from
// server u (or its group of replicas). It returns -1 if the attempt did not take any.
func (t *judge) lastTaken(s *trace.Span, u history.Process) int {
	g := &t.Grants[s.Grant]
	if g.Attempt == "" {
		return -1
	}
	return t.LastTaken(g.Attempt, t.Locks[g.Lock].Name, u, s.At)
}

// shareKey reports whether the two grants belong to one client and depend on the same key: one grant's attempt set the
// key, and it still existed at the time of the other grant. If so, shareKey sets both elements of r.set to its
// position.
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

// coexists reports whether the victim's key still existed when the other key was set, on the same server but under
// another member name. For a service with one replicated log, it returns false. There, this is normal, because waiting
// clients have keys, too.
func (t *judge) coexists(r *record) bool {
	victim, other, h := &t.History.Events[r.set[r.victim]], &t.History.Events[r.set[1-r.victim]], &t.History.Header
	if h.OneService() || h.Service.Kind().OneLog {
		return false
	}
	return victim.Process == other.Process && victim.Member != other.Member && (t.Expiries || other.Time < r.stood)
}
