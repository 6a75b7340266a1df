package trace

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// openEnd returns the end of a lease whose end the history does not record. Usually this is when the holder was told
// that the lock was lost. But a paused holder cannot be told. So if the holder was paused at any time since its key was
// last renewed, the lease ends when the key is due to expire, if that is earlier. A key without an expiry counts as
// expired once it has not been renewed for a TTL, because others may then take over the lock.
func (t *Trace) openEnd(g *Grant, lease *history.Grant) history.Time {
	due, renewed := t.lastDue(g, lease)
	for i := range t.Faults {
		f := &t.Faults[i]
		if f.Does == history.Stops && f.Strikes(g.Process) && t.Time(f.Start) < lease.Until &&
			t.Time(f.Over()) >= renewed {
			return min(lease.Until, due)
		}
	}
	return lease.Until
}

// lastDue returns when a grant's keys were due to expire, and when they were last set or extended. It considers only
// what was recorded before the holder was told that the lock was lost. A key without an expiry is due once it has not
// been renewed for a TTL. If a key expired during the lease and was set again, the second time does not count, because
// another client may have held the lock in between.
//
// If a quorum of servers decides, lastDue returns the times of the key after whose expiry too few keys are left for a
// quorum. If the servers recorded too few keys for a quorum, it returns Never.
func (t *Trace) lastDue(g *Grant, lease *history.Grant) (due, renewed history.Time) {
	type deadline struct {
		server    history.Process
		due, from history.Time
	}
	var all []deadline
	for _, at := range t.Keys {
		e := &t.History.Events[at]
		if e.F == history.KeyGone || e.Lock != t.Locks[g.Lock].Name || e.Of != g.Attempt || e.Time >= lease.Until {
			continue
		}
		d := deadline{e.Process, e.Until, e.Time}
		if ttl := t.History.Header.TTL; d.due == history.Never && ttl > 0 {
			d.due = e.Time + ttl
		}
		if t.History.Header.OneService() {
			d.server = ""
		}
		i := slices.IndexFunc(all, func(o deadline) bool { return o.server == d.server })
		switch {
		case i < 0:
			all = append(all, d)
		case e.Time <= all[i].due || all[i].due < lease.Granted:
			all[i] = d
		}
	}
	slices.SortStableFunc(all, func(a, b deadline) int { return cmp.Compare(b.due, a.due) })
	needed := max(t.History.Header.Quorum, 1)
	if t.History.Header.OneService() {
		needed = 1
	}
	if len(all) < needed {
		return history.Never, history.Never
	}
	return all[needed-1].due, all[needed-1].from
}

// PausedOpen returns the first process that had a lease without a stated end and was paused at some time in the
// history. It returns "" if there is none.
func (t *Trace) PausedOpen() history.Process {
	for n := range t.Grants {
		g := &t.Grants[n]
		if g.Lease != nil && g.Lease.Open && slices.ContainsFunc(t.Faults, func(f Fault) bool {
			return f.Does == history.Stops && f.Strikes(g.Process)
		}) {
			return g.Process
		}
	}
	return ""
}
