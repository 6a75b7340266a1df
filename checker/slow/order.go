package slow

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// ownership looks for a deletion or prolongation by another attempt than the owner.
func (r *reading) ownership() Finding {
	outcome := Unchecked
	for i := range r.Events {
		e := &r.Events[i]
		changed := e.F == history.KeyProlonged || e.F == history.KeyGone && e.Why == history.Deleted
		if !changed || e.Of == "" || e.By == "" || !slices.Contains(r.locks, e.Lock) {
			continue
		}
		outcome = Holds
		if e.By != e.Of {
			cause := "removed by non-owner"
			if e.F == history.KeyProlonged {
				cause = "prolonged by non-owner"
			}
			return Finding{Outcome: Violated, Events: []int{i}, Cause: cause}
		}
	}
	return Finding{Outcome: outcome}
}

// tokenOrder compares every two grants of one lock that have tokens.
func (r *reading) tokenOrder() Finding {
	outcome := Unchecked
	for j, b := range r.sections {
		for _, a := range r.sections[:j] {
			if a.lock != b.lock || a.token == 0 || b.token == 0 {
				continue
			}
			outcome = Holds
			if a.token == b.token {
				return Finding{Outcome: Violated, Events: []int{a.ok, b.ok}, Cause: "token repeated"}
			}
			if a.token > b.token && r.before(a, b) {
				return Finding{Outcome: Violated, Events: []int{a.ok, b.ok}, Cause: "token went back"}
			}
		}
	}
	return Finding{Outcome: outcome}
}

// before reports whether a was granted before b's winning request left: in time, or because b had not even been called.
func (r *reading) before(a, b *section) bool {
	return a.ok < b.call || b.lease != nil && r.time(a.ok) < b.lease.Since
}
