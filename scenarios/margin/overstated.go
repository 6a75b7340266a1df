package margin

import (
	"math"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// statement is a lease end that was reported to a holder. It also says how long the holder's keys protect the lease, as
// far as was known at the time of the report.
type statement struct {
	grant     int32
	at, until history.Time // when the holder was told, and the end that it was told
	protects  history.Time // until when the keys keep other clients from a quorum, as far as was known at the time at
}

// state records the lease end that span w's event reported to the holder, and how long the holder's keys protect the
// lease, as far as was known at that time.
func (r *Reader) state(w *trace.Span) {
	t := r.t
	g := &t.Grants[w.Grant]
	e := &t.History.Events[w.At]
	if g.Process == history.Probe || e.Grant == nil || e.Grant.Until == history.Never || e.Grant.Open {
		return
	}
	if protects, ok := r.protects(g, e.Time); ok {
		r.stated = append(r.stated, statement{w.Grant, e.Time, e.Grant.Until, protects})
	}
}

// protects returns the time until which a grant's keys keep other clients from a quorum, provided that no key
// disappears before it expires. If enough units (servers or groups) for a quorum lack a key, it returns the current
// time, at. If the attempt set several keys on one unit, only the last one counts; the others belong to earlier tries.
// ok is false if too few of the grant's keys are known.
func (r *Reader) protects(g *trace.Grant, at history.Time) (until history.Time, ok bool) {
	var dues []history.Time
	for h := range r.holdsOf(g.Attempt) {
		if !r.setAgain(h, history.Never) {
			dues = append(dues, h.due)
		}
	}
	slices.Sort(dues)
	switch k := r.need - (r.units - min(len(dues), r.units)); {
	case len(dues) == 0 || k > len(dues):
		return 0, false
	case k <= 0:
		return at, true
	default:
		return dues[k-1], true
	}
}

// overstated compares each lease end that was reported to a holder with the time until which the holder's keys
// protected the lease. The farther the lease end lies beyond that time, the closer the run came to a violation. If it
// does lie beyond, it also matters how late the lease was extended, was released or ended, relative to that time.
func (r *Reader) overstated(lock *trace.LockTrace) {
	t := r.t
	for n := range r.stated {
		s := &r.stated[n]
		i := position(lock, s.grant)
		g := &t.Grants[s.grant]
		if s.protects == history.Never { // the holder's session may have expired since then
			s.protects, _ = r.protects(g, s.at)
		}
		over := s.until - s.protects
		value := 1 + r.share(-over)
		end := s.until
		if n+1 < len(r.stated) && r.stated[n+1].grant == s.grant {
			end = min(end, r.stated[n+1].at)
		}
		if g.Release != trace.Open {
			end = min(end, t.Time(g.Release))
		}
		if over > 0 {
			value = 0.1 + 0.3*(1-math.Sqrt(r.share(over))) + 0.5*r.share(s.protects-end)
		}
		contended := r.asked(lock, g, s.at, s.until)
		if !contended {
			value += uncontended
		}
		r.take(Overstated, value, func(c *Call) {
			r.about(c, lock, i)
			c.From, c.To, c.Contended = s.at, s.until, contended
			c.At, c.After, c.Standing = end, over, r.servers(g)
		})
	}
}
