package margin

import (
	"math"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// statement is what a holder was told of its lease, and how long its keys protected it then.
type statement struct {
	grant     int32
	at, until history.Time // when it was told, and the end that it was told
	protects  history.Time // until when its keys keep the others from a quorum, as far as was known then
}

// state notes a statement, with the keys as they stand.
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

// protects is until when the keys of a grant keep the others from a quorum if they live until they expire; ok is false
// if too few of them are known. at is now.
func (r *Reader) protects(g *trace.Grant, at history.Time) (until history.Time, ok bool) {
	var dues []history.Time
	for h := range r.of(g.Attempt) {
		dues = append(dues, h.due)
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

// overstated measures by how much holders counted on their leases for longer than their keys lived, and how much of
// that time was left when they were prolonged or released.
func (r *Reader) overstated(lock *trace.LockTrace) {
	t := r.t
	for n := range r.stated {
		s := &r.stated[n]
		i := position(lock, s.grant)
		g := &t.Grants[s.grant]
		if s.protects == history.Never { // its session may have expired since
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
