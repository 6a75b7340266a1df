package margin

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// act is something that a server did for an attempt around the time at which the server was replaced or cut off from
// the others.
type act struct {
	server  history.Process
	attempt history.Attempt
	at      history.Time
	since   history.Time // when the server was replaced or cut off
}

// deposed measures how close a master or leader came to granting or extending the lock after being replaced.
func (r *Reader) deposed(lock *trace.LockTrace) {
	r.undeposed(lock)
	if r.t.History.Header.OneService() {
		r.isolated(lock)
		return
	}
	t := r.t
	for i := range t.Faults {
		f := &t.Faults[i]
		if f.Does != history.Promotes || len(f.On) == 0 {
			continue
		}
		replaced := t.Time(f.Start)
		for n := range r.sent {
			s := &r.sent[n]
			arrived := history.Time(s.Arrived)
			if s.Server != f.On[0] || arrived == 0 || s.Attempt == "" {
				continue
			}
			value := 1 + r.share(replaced-arrived)
			if arrived >= replaced {
				value = 0.9
			}
			r.acted(lock, value, act{f.On[0], s.Attempt, arrived, replaced})
		}
		for _, k := range t.Keys {
			e := &t.History.Events[k]
			if e.Process == f.On[0] && e.Lock == lock.Name && e.Time >= replaced && e.F != history.KeyGone {
				r.acted(lock, r.timeApart(lock, e), act{f.On[0], e.Of, e.Time, replaced})
			}
		}
	}
}

// undeposed records that the master that made the lock's first grant could have been replaced. This is the Deposed
// close call with the largest margin, so any closer call takes its place. undeposed does nothing unless the lock is
// stored by groups of servers or by a single service.
func (r *Reader) undeposed(lock *trace.LockTrace) {
	h := &r.t.History.Header
	if len(h.Groups) == 0 || len(lock.Grants) == 0 {
		return
	}
	g := &r.t.Grants[lock.Grants[0]]
	for k := range r.holdsOf(g.Attempt) {
		r.acted(lock, 1.999, act{k.server, g.Attempt, k.set, k.set})
		return
	}
}

// timeApart measures the time between two leases: the one that the key in event e belongs to, and the nearest grant to
// another attempt. It returns a number from 0.05 (they overlap) to 0.65 (they are far apart), or 0.8 if the lease is
// unknown or does not end.
func (r *Reader) timeApart(lock *trace.LockTrace, e *history.Event) float64 {
	n, ok := r.t.GrantAt(e.Of, r.t.LockNumber[lock.Name])
	if !ok {
		return 0.8
	}
	g := &r.t.Grants[n]
	if g.Lease == nil || g.Until == history.Never {
		return 0.8
	}
	far, _ := r.nearest(lock, g, g.Lease.Granted, g.Until)
	return 0.05 + 0.6*far
}

// isolated measures how long a member of a service continued to grant and extend the lock while it was cut off from a
// majority. During that time, the other members may have replaced it.
func (r *Reader) isolated(lock *trace.LockTrace) {
	t := r.t
	members := t.History.Header.Servers
	for i := range t.Faults {
		f := &t.Faults[i]
		if f.Does != history.Parts {
			continue
		}
		from, to := t.Time(f.Start), r.stop(f)
		for _, k := range t.Keys {
			e := &t.History.Events[k]
			if e.Lock != lock.Name || e.F == history.KeyGone || e.Time < from || e.Time > to {
				continue
			}
			far := f.To
			if slices.Contains(f.To, e.Process) {
				far = f.On
			} else if !slices.Contains(f.On, e.Process) {
				continue
			}
			cut := 0
			for _, m := range members {
				if slices.Contains(far, m) {
					cut++
				}
			}
			if 2*cut > len(members) {
				r.acted(lock, 0.9-0.8*r.share(e.Time-from), act{e.Process, e.Of, e.Time, from})
			}
		}
	}
}

// acted passes a close call to r.take: a is what a server did, and value is the margin. r.take keeps the call only if
// it is the closest so far.
func (r *Reader) acted(lock *trace.LockTrace, value float64, a act) {
	t := r.t
	r.take(Deposed, value, func(c *Call) {
		c.Lock, c.Attempt, c.Holder = lock.Name, a.attempt, t.ProcessOf(lock.Name, a.attempt)
		c.Called, c.From, c.To = a.since, a.since, a.since+history.Time(r.ttl)
		if n, ok := t.GrantAt(a.attempt, t.LockNumber[lock.Name]); ok {
			g := &t.Grants[n]
			c.Called = t.Time(t.Asks[g.Ask].Call)
			c.Next, c.NextAttempt = r.next(lock, position(lock, n))
			if g.Until != history.Never && g.Until > c.From {
				c.To = g.Until
			}
		}
		c.At, c.Contended, c.Units, c.Standing = a.at, true, r.units, []history.Process{a.server}
	})
}

// position returns a grant's index in lock.Grants, or 0 if the grant is not in the list.
func position(lock *trace.LockTrace, grant int32) int {
	return max(slices.Index(lock.Grants, grant), 0)
}
