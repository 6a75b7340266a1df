package margin

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// lost describes what happened to a holder's keys before its lease ended: which ones it lost, and which ones it still
// had.
type lost struct {
	keys     []freed
	standing []history.Process
	// the times when the units (servers or groups) that never had one of the holder's keys could grant the lock to the
	// next client
	open []history.Time
}

// freed is a key that a holder lost.
type freed struct {
	Loss
	unit history.Process
	from history.Time // when the unit could grant the lock to the next client; later than the loss if the unit was down
}

// lease measures how close other clients came to being granted a lock while an earlier grant of the lock was valid.
func (r *Reader) lease(lock *trace.LockTrace, i int) {
	g := &r.t.Grants[lock.Grants[i]]
	if g.Lease == nil || g.Until == history.Never {
		return
	}
	end := g.Until
	if g.Release != trace.Open {
		end = min(end, r.t.Time(g.Release))
	}
	next, _ := r.next(lock, i)
	l, known := r.lost(g, end, next)
	if !known {
		return
	}
	far := 0.0
	contended := r.asked(lock, g, g.Lease.Granted, end)
	if !contended {
		far = uncontended
	}
	for _, w := range []Way{Expires, Crashes, Failover, Removed, Mixed} {
		if h := &r.t.History.Header; w == Failover && (len(h.Groups) == 0 || h.OneService()) {
			continue
		}
		gone, free := l.keysLost(w)
		missing := max(r.need-len(free), 0)
		value, since := far, g.Lease.Granted
		if missing > 0 {
			value += float64(missing) + part(r.tie(w, g, &l, end))
		} else {
			since = max(since, free[r.need-1])
			value += r.unprotected(lock, i, since, end)
		}
		r.take(w, value, func(c *Call) {
			r.about(c, lock, i)
			c.To, c.Contended = end, contended
			c.Missing, c.Standing, c.Gone = missing, slices.Clone(l.standing), gone
			c.Spare = r.units - r.need - len(l.open)
			if missing == 0 {
				c.From = since
			}
		})
	}
}

// lost returns what had happened to a grant's keys by the time its lease ended. known is false if no server recorded a
// key.
func (r *Reader) lost(g *trace.Grant, end history.Time, next history.Process) (l lost, known bool) {
	had := map[history.Process]bool{}
	for h := range r.holdsOf(g.Attempt) {
		if h.set > g.Until || h.gone <= g.Lease.Granted && r.setAgain(h, g.Until) {
			continue
		}
		had[h.unit] = true
		goes, way := h.due, Overstated
		if h.gone < g.Until {
			goes, way = h.gone, h.way
			if h.byOwner() && g.Release != trace.Open && h.gone >= r.t.Time(g.Release) {
				goes, way = h.due, Overstated // the holder's own release may remove the key
			}
			if way == Expires && h.gone >= h.due {
				way = Overstated // the key expired on time
			}
		}
		if goes >= end {
			if l.standing = append(l.standing, h.server); h.unit != h.server {
				l.standing = append(l.standing, h.unit)
			}
		} else if from := r.usable(h.unit, next, max(goes, g.Lease.Granted)); from < end {
			l.keys = append(l.keys, freed{Loss{h.server, max(goes, 0), way}, h.unit, from})
		}
	}
	if len(had) == 0 {
		return l, false
	}
	if r.units > 1 {
		for _, s := range r.t.History.Header.Servers {
			if r.t.Unit(s) == s && !had[s] {
				if from := r.usable(s, next, g.Lease.Granted); from < end {
					l.open = append(l.open, from)
				}
			}
		}
	}
	slices.SortFunc(l.keys, func(a, b freed) int { return cmp.Compare(a.At, b.At) })
	return l, true
}

// setAgain reports whether, by the given time, the attempt that set the key h later set another key on the same unit (a
// server or a group). An attempt that retries sets and removes its keys each time.
func (r *Reader) setAgain(h *hold, until history.Time) bool {
	for n := h.next; n != none; n = r.holds[n].next {
		if next := &r.holds[n]; next.unit == h.unit && next.set <= until {
			return true
		}
	}
	return false
}

// keysLost returns the keys that were lost in way w (or in any way, if w is Mixed), at most one for each unit (a server
// or a group). free contains, in ascending order, the times from which units could grant the lock to the next client.
// It has one time for each unit that lost such a key, and one for each unit that never had a key.
func (l *lost) keysLost(w Way) (gone []Loss, free []history.Time) {
	free = slices.Clone(l.open)
	var counted []history.Process
	for _, k := range l.keys {
		if (k.Way == w || w == Mixed) && !slices.Contains(counted, k.unit) {
			counted = append(counted, k.unit)
			gone, free = append(gone, k.Loss), append(free, k.from)
		}
	}
	slices.Sort(free)
	return gone, free
}

// tie returns a number from 0 to 1 that says how close grant g came to losing one more key in way w; a smaller number
// means closer. It ranks close calls in which a violation would have needed the same number of further lost keys.
func (r *Reader) tie(w Way, g *trace.Grant, l *lost, end history.Time) float64 {
	switch w {
	case Expires:
		return 0.1 + 0.8*r.struck(l.standing, g.Lease.Granted, end, func(f *trace.Fault, p history.Process) bool {
			faster := f.Does == history.SetsClock && f.Shift > 0 || f.Does == history.PacesClock && f.PPM > 0
			return faster && f.Strikes(p)
		})
	case Crashes:
		return 0.1 + 0.8*r.struck(l.standing, g.Lease.Granted, end, func(f *trace.Fault, p history.Process) bool {
			return f.Does == history.Kills && f.Strikes(p)
		})
	case Failover:
		return r.failedOver(l.standing, g.Lease.Granted, end)
	case Removed:
		return r.late(l.standing, g, end)
	}
	return 0.5
}

// struck returns how close a matching fault came to striking one of the servers between begin and end, as a number from
// 0 to 1; a smaller number means closer. If a fault struck in that period, the number is less than 0.5. The earlier it
// struck, the smaller the number, because it left more time for other faults. If there is no such fault, it is 1.
func (r *Reader) struck(servers []history.Process, begin, end history.Time,
	matches func(*trace.Fault, history.Process) bool) float64 {
	best := 1.0
	for i := range r.t.Faults {
		f := &r.t.Faults[i]
		for _, p := range servers {
			if matches(f, p) {
				best = min(best, r.distance(r.t.Time(f.Start), begin, end))
			}
		}
	}
	return best
}

// distance returns how far an instant is from a period, as a number from 0 to 1. Inside the period, the number is less
// than 0.5 and grows with the time since begin. Outside the period, it is at least 0.5.
func (r *Reader) distance(at, begin, end history.Time) float64 {
	switch {
	case at < begin:
		return 0.5 + 0.5*r.share(begin-at)
	case at >= end:
		return 0.5 + 0.5*r.share(at-end)
	}
	return 0.5 * r.share(at-begin)
}

// failedOver returns how close a promotion came to losing a key on one of the servers. A promotion loses a key if it
// happens between begin and end, and if the replica has been kept from learning about the key.
func (r *Reader) failedOver(servers []history.Process, begin, end history.Time) float64 {
	t := r.t
	best := 1.0
	for i := range t.Faults {
		f := &t.Faults[i]
		ofThese := func(p history.Process) bool { return slices.Contains(servers, t.Unit(p)) }
		if !slices.ContainsFunc(f.Struck(), ofThese) {
			continue
		}
		switch {
		case f.Does == history.Promotes && len(f.To) > 0:
			off := r.distance(t.Time(f.Start), begin, end)
			blind := r.blindUntil(f.To[0], begin)
			switch {
			case blind == 0:
				best = min(best, 0.35+0.5*off)
			case off < 0.5 && blind >= t.Time(f.Start):
				best = min(best, 0.05+0.2*off)
			default:
				best = min(best, 0.2+0.2*off)
			}
		case r.blinds(f) && t.Time(f.Start) <= begin && r.stop(f) > begin:
			best = min(best, 0.4)
		}
	}
	return best
}

// blindUntil returns the time until which faults keep a replica from learning what happened at an instant, or 0 if the
// replica learns it immediately.
func (r *Reader) blindUntil(replica history.Process, at history.Time) (until history.Time) {
	for i := range r.t.Faults {
		f := &r.t.Faults[i]
		if r.t.Time(f.Start) > at || !f.Strikes(replica) || !r.blinds(f) {
			continue
		}
		if stop := r.stop(f); stop > at {
			until = max(until, stop)
		}
	}
	return until
}

// stop returns the time at which a fault ended, or history.Never if it did not end.
func (r *Reader) stop(f *trace.Fault) history.Time {
	if f.Stop == trace.Open {
		return history.Never
	}
	return r.t.Time(f.Stop)
}

// blinds reports whether a fault can keep a replica from learning what its master is doing.
func (r *Reader) blinds(f *trace.Fault) bool {
	server := func(p history.Process) bool { return !nemesis.IsClient(p) }
	switch f.Does {
	case history.Parts, history.HoldsUp:
		return slices.ContainsFunc(f.On, server) && slices.ContainsFunc(f.To, server)
	case history.Stops, history.Kills, history.ShutsDown:
		return server(f.On[0]) && r.t.Unit(f.On[0]) != f.On[0]
	}
	return false
}

// usable returns the earliest time, at or after the given time, when no fault keeps a server from granting a client a
// lock. It returns history.Never if there is no such time.
func (r *Reader) usable(server, client history.Process, at history.Time) history.Time {
	for again := true; again && at != history.Never; {
		again = false
		for i := range r.t.Faults {
			f := &r.t.Faults[i]
			if f.Stop == trace.Open && !f.Ends && !f.Kind.Lasts() && !f.Does.IsDown() {
				continue // the fault ended at the moment it began
			}
			if stop := r.stop(f); r.t.Time(f.Start) <= at && stop > at && bars(f, server, client) {
				at, again = stop, true
			}
		}
	}
	return at
}

// bars reports whether a fault, while it lasts, keeps a server from granting anything to a client.
func bars(f *trace.Fault, server, client history.Process) bool {
	switch f.Does {
	case history.Kills, history.ShutsDown, history.Stops:
		return slices.Contains(f.On, server)
	case history.Parts:
		return slices.Contains(f.On, server) && slices.Contains(f.To, client) ||
			slices.Contains(f.To, server) && slices.Contains(f.On, client)
	}
	return false
}

// late looks for delayed requests that other attempts sent to one of the servers, because such a request may remove the
// key there. It returns a number that says how close such a request came to arriving between the grant and the given
// end. A smaller number means closer; 1 means that there was no such request.
func (r *Reader) late(servers []history.Process, g *trace.Grant, end history.Time) float64 {
	const usual = history.Time(50e6) // a request that takes no longer than this is not late
	from := g.Lease.Granted
	best, within := 1.0, 0
	for i := range r.sent {
		s := &r.sent[i]
		arrived := history.Time(s.Arrived)
		if arrived == 0 || s.Attempt == g.Attempt || arrived-history.Time(s.Left) < usual ||
			history.Time(s.Left) >= end || !slices.Contains(servers, s.Server) {
			continue
		}
		far := 0.0
		switch {
		case arrived < from:
			far = r.share(from - arrived)
		case arrived >= end:
			far = r.share(arrived - end)
		default:
			within++
		}
		best = min(best, 0.3+0.6*far)
	}
	return best / (1 + 0.2*float64(min(within, 8)))
}

// unprotected measures how close another client came to acquiring the lock in the period from since, when a lease's
// keys had stopped protecting it, to end, when the lease ended. The result is a number from 0 to 1; a smaller number
// means closer.
func (r *Reader) unprotected(lock *trace.LockTrace, i int, since, end history.Time) float64 {
	g := &r.t.Grants[lock.Grants[i]]
	if end <= since { // by then, the holder had already released the lock
		return 0.95 + 0.04*r.share(since-end)
	}
	if !r.asked(lock, g, since, end) {
		return 0.9
	}
	far, missing := r.nearest(lock, g, since, end)
	return 0.01 + 0.4*missing + 0.25*far + 0.2*(1-r.share(end-since))
}

// nearest measures how close other clients came to the lock between begin and end. far is the time between this period
// and the nearest other grant, as a fraction of the TTL. missing is the fraction of a quorum that the most successful
// other attempt did not get in this period. If the lock has n permits, far and missing describe the nth nearest grant
// and the nth most successful attempt (see nth).
func (r *Reader) nearest(lock *trace.LockTrace, g *trace.Grant, begin, end history.Time) (far, missing float64) {
	fars, lacks := r.fars[:0], r.lacks[:0]
	for _, n := range lock.Grants {
		b := &r.t.Grants[n]
		if b == g || b.Lease == nil || g.Shared && b.Shared || b.Process == history.Probe {
			continue
		}
		switch at := b.Lease.Granted; {
		case at < begin:
			if r.t.Permits() > 1 && r.endOf(b) > begin {
				fars = append(fars, 0)
			} else if b.Lease.Until <= begin {
				fars = append(fars, r.share(begin-at))
			}
		case at > end:
			fars = append(fars, r.share(at-end))
		default:
			fars = append(fars, 0)
		}
	}
	got := map[history.Attempt]int{}
	for i := range r.holds {
		h := &r.holds[i]
		stood := r.t.Permits() > 1 && h.gone > begin
		if h.of != g.Attempt && (h.set >= begin || stood) && h.set < end {
			got[h.of]++
		}
	}
	for _, n := range got {
		lacks = append(lacks, max(float64(r.need-n)/float64(r.need), 0))
	}
	r.fars, r.lacks = fars, lacks
	return r.nth(fars), r.nth(lacks)
}
