package margin

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// section measures how close other clients came to entering their critical sections while a holder was still in its
// own.
func (r *Reader) section(lock *trace.LockTrace, i int) {
	t := r.t
	g := &t.Grants[lock.Grants[i]]
	if g.Until == history.Never || g.Lease == nil {
		return
	}
	left, within := t.Time(g.End), r.firstOverlap(lock, i)
	value := 1 + r.share(g.Until-left)
	switch {
	case within != history.Never:
		value = 0.05 + 0.4*r.share(within-left)
	case g.Ending == trace.Crashed:
		return
	case left >= g.Until:
		value = 0.999
		switch since := r.protectedUntil(g); {
		case since < left:
			_, missing := r.nearest(lock, g, since, left)
			if value = 0.1 + 0.4*missing + 0.4*(1-r.share(left-since)); !r.asked(lock, g, since, left) {
				value += 1.5
			}
		case since != history.Never:
			value = 0.95 + 0.049*r.share(since-left)
		}
	}
	contended := r.asked(lock, g, t.Time(g.OK), max(left, g.Until))
	if !contended {
		value += uncontended
	}
	r.take(Outlives, value, func(c *Call) {
		r.about(c, lock, i)
		c.Contended, c.At, c.Standing = contended, left, r.servers(g)
		if n, ok := r.beyond(lock, i); ok {
			c.After = t.Time(t.Grants[n].OK) - left
		}
	})
}

// firstOverlap returns the time of the first later grant that, together with the ith grant, breaks the lock (see
// beyond). It considers only the time until the ith grant's lease ended or its release was called. If there was no such
// grant, it returns history.Never.
func (r *Reader) firstOverlap(lock *trace.LockTrace, i int) history.Time {
	t := r.t
	g := &t.Grants[lock.Grants[i]]
	if n, ok := r.beyond(lock, i); ok {
		if at := t.Time(t.Grants[n].OK); at < r.endOf(g) {
			return at
		}
	}
	return history.Never
}

// protectedUntil returns the time until which a grant's keys prevent other clients from getting a quorum. A key that
// the grant's own release removed counts until it was due to expire.
func (r *Reader) protectedUntil(g *trace.Grant) history.Time {
	had := map[history.Process]bool{}
	var ends []history.Time
	for h := range r.holdsOf(g.Attempt) {
		had[h.unit] = true
		end := h.gone
		if end == history.Never || h.byOwner() {
			if end = h.due; h.gone < end && g.Release != trace.Open && h.gone < r.t.Time(g.Release) {
				end = h.gone
			}
		}
		ends = append(ends, end)
	}
	if len(had) == 0 {
		return g.Until
	}
	slices.Sort(ends)
	switch k := r.need - (r.units - len(had)); {
	case k <= 0:
		return r.t.Time(g.OK)
	case k > len(ends):
		return history.Never
	default:
		return ends[k-1]
	}
}

// servers returns the servers whose votes a client counted for a grant. If the grant does not name them, it returns all
// servers.
func (r *Reader) servers(g *trace.Grant) []history.Process {
	if g.Lease != nil && len(g.Lease.Counted) > 0 {
		return slices.Clone(g.Lease.Counted)
	}
	return slices.Clone(r.t.History.Header.Servers)
}

// writes measures how close each holder's last write, accepted or not, came to reaching the resource too late. Usually,
// this is the time that was left of the lease. If the lease was over or had been overlapped by another one, it is the
// time until a later holder's first accepted use of the resource.
func (r *Reader) writes(lock *trace.LockTrace, number int32) {
	t := r.t
	first, last := map[int32]history.Time{}, map[int32]history.Time{} // times of the first and last use, by grant
	for _, at := range t.Data {
		e := &t.History.Events[at]
		if e.F != history.Apply || e.Lock != lock.Name {
			continue
		}
		n, ok := t.GrantAt(e.Of, number)
		if !ok {
			continue
		}
		if _, seen := first[n]; !seen && e.Type == history.OK {
			first[n] = e.Time
		}
		if e.Op == history.Write {
			last[n] = e.Time
		}
	}
	for i, n := range lock.Grants {
		g := &t.Grants[n]
		wrote, ok := last[n]
		if !ok || g.Lease == nil || g.Until == history.Never || g.Process == history.Probe {
			continue
		}
		value, after := 1+r.share(g.Until-wrote), history.Never
		if wrote >= g.Until || r.firstOverlap(lock, i) != history.Never {
			value = 0.999
			for _, b := range lock.Grants[i+1:] {
				if f, ok := first[b]; ok {
					after = min(after, f-wrote)
				}
			}
			if after != history.Never {
				value = max(r.share(after), 0.001)
			}
		}
		contended := r.asked(lock, g, t.Time(g.OK), max(wrote, g.Until))
		if !contended {
			value += uncontended
		}
		r.take(Writes, value, func(c *Call) {
			r.about(c, lock, i)
			c.Contended, c.At, c.After, c.Standing = contended, wrote, after, r.servers(g)
		})
	}
}
