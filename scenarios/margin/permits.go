package margin

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// A lock with N permits is violated when N+1 clients hold it at the same time: a grant's holder and N other clients.
// What matters is therefore the Nth of these other clients. In this file, it is called the "next client" after a grant,
// and how close other clients came is measured for the Nth closest of them.

// beyond returns the first later grant that would break the lock if the ith grant were still held, because more clients
// would then hold the lock than it has permits. If the lock has one permit, this is the next grant that does not share
// the lock with the ith. ok is false if there is no such grant.
func (r *Reader) beyond(lock *trace.LockTrace, i int) (n int32, ok bool) {
	g := &r.t.Grants[lock.Grants[i]]
	for _, n := range lock.Grants[i+1:] {
		b := &r.t.Grants[n]
		if b.Process != history.Probe && !(g.Shared && b.Shared) && r.otherLeases(lock, g, b) >= r.t.Permits()-1 {
			return n, true
		}
	}
	return 0, false
}

// otherLeases counts the lock's leases that were running when b was acquired, except those of g and b.
func (r *Reader) otherLeases(lock *trace.LockTrace, g, b *trace.Grant) (n int) {
	if r.t.Permits() == 1 {
		return 0
	}
	at := r.t.Time(b.OK)
	for _, k := range lock.Grants {
		x := &r.t.Grants[k]
		if x != g && x != b && x.Lease != nil && x.Lease.Granted <= at && at < r.endOf(x) {
			n++
		}
	}
	return n
}

// endOf returns when a grant's lease ended or, if that was earlier, when its release was called.
func (r *Reader) endOf(g *trace.Grant) history.Time {
	if g.Release != trace.Open {
		return min(g.Until, r.t.Time(g.Release))
	}
	return g.Until
}

// holdingOrAsking counts the clients other than g's holder that requested or held a lock between begin and end.
func (r *Reader) holdingOrAsking(lock *trace.LockTrace, g *trace.Grant, begin, end history.Time) int {
	var seen []history.Process
	add := func(p history.Process) {
		if p != g.Process && p != history.Probe && !slices.Contains(seen, p) {
			seen = append(seen, p)
		}
	}
	for _, n := range lock.Asks {
		if a := &r.t.Asks[n]; r.t.Time(a.Call) < end && (a.Ret == trace.Open || r.t.Time(a.Ret) > begin) {
			add(a.Process)
		}
	}
	for _, n := range lock.Grants {
		if x := &r.t.Grants[n]; x.Lease != nil && x.Lease.Granted < end && r.endOf(x) > begin {
			add(x.Process)
		}
	}
	return len(seen)
}

// nth returns the nth smallest value, where n is the number of permits. It returns 1 if there are fewer values.
func (r *Reader) nth(values []float64) float64 {
	n := r.t.Permits()
	if len(values) < n {
		return 1
	}
	slices.Sort(values)
	return values[n-1]
}
