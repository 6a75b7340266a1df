package margin

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// A lock with N permits is broken by N+1 holders at once. So the next client of a grant is the one that makes N others
// beside it, and a time or a number that says how close others came is that of the Nth of them.

// beyond returns the first later grant with which as many others as there are permits hold the lock beside the i-th; ok
// is false if there is none. With one permit it is the next grant.
func (r *Reader) beyond(lock *trace.LockTrace, i int) (n int32, ok bool) {
	g := &r.t.Grants[lock.Grants[i]]
	for _, n := range lock.Grants[i+1:] {
		b := &r.t.Grants[n]
		if b.Process != history.Probe && !(g.Shared && b.Shared) && r.beside(lock, g, b) >= r.t.Permits()-1 {
			return n, true
		}
	}
	return 0, false
}

// beside counts the leases of a lock, other than those of g and b, that were running when b was acquired.
func (r *Reader) beside(lock *trace.LockTrace, g, b *trace.Grant) (n int) {
	if r.t.Permits() == 1 {
		return 0
	}
	at := r.t.Time(b.OK)
	for _, k := range lock.Grants {
		x := &r.t.Grants[k]
		if x != g && x != b && x.Lease != nil && x.Lease.Granted <= at && at < r.over(x) {
			n++
		}
	}
	return n
}

// over returns when the lease of a grant ended, or its release was called.
func (r *Reader) over(g *trace.Grant) history.Time {
	if g.Release != trace.Open {
		return min(g.Until, r.t.Time(g.Release))
	}
	return g.Until
}

// holdingOrAsking counts the clients, other than the holder of g, that requested a lock or held it between from and to.
func (r *Reader) holdingOrAsking(lock *trace.LockTrace, g *trace.Grant, from, to history.Time) int {
	var seen []history.Process
	add := func(p history.Process) {
		if p != g.Process && p != history.Probe && !slices.Contains(seen, p) {
			seen = append(seen, p)
		}
	}
	for _, n := range lock.Asks {
		if a := &r.t.Asks[n]; r.t.Time(a.Call) < to && (a.Ret == trace.Open || r.t.Time(a.Ret) > from) {
			add(a.Process)
		}
	}
	for _, n := range lock.Grants {
		if x := &r.t.Grants[n]; x.Lease != nil && x.Lease.Granted < to && r.over(x) > from {
			add(x.Process)
		}
	}
	return len(seen)
}

// nth returns the value that as many others as there are permits do not exceed, or 1 if there are fewer others.
func (r *Reader) nth(values []float64) float64 {
	n := r.t.Permits()
	if len(values) < n {
		return 1
	}
	slices.Sort(values)
	return values[n-1]
}
