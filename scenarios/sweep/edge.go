package sweep

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
)

// flip is a change between two neighbouring numbers.
type flip[S comparable] struct {
	last, first   int64 // the last number before it and the first behind it
	before, after S
	exact         bool // they are no further apart than was asked for
}

// bisect finds changes between two numbers of different state, by halving, until the numbers on both sides are no
// further apart than the resolution. There may be others between numbers that turn out alike: it finds an odd number of
// changes where there are two states, never all. at gives the state of a number; false if it has none, which ends the
// search there.
func bisect[S comparable](lo, hi int64, before, after S, resolution int64, at func(int64) (S, bool)) []flip[S] {
	if before == after {
		return nil
	}
	f := flip[S]{lo, hi, before, after, true}
	for f.first-f.last > resolution {
		half := max((f.first-f.last)/2/resolution*resolution, resolution)
		middle := f.last + half
		state, ok := at(middle)
		if !ok {
			f.exact = false
			break
		}
		if state == before {
			f.last = middle
		} else {
			f.first, f.after = middle, state
		}
	}
	return append([]flip[S]{f}, bisect(f.first, hi, f.after, after, resolution, at)...)
}

// Edge is where a law comes out otherwise.
type Edge struct {
	Law   checker.Law
	Axis  int // along which, from 0
	Point int // the one of the grid before it, by its number
	// Last and First are the neighbours on both sides; on other axes they have the same value.
	Last, First   *Point
	Before, After State
	Exact         bool // Last and First are no further apart than was asked for
	// the sweep was interrupted before they were; otherwise no point between them is a valid scenario
	Stopped bool
}

// side joins two neighbours of the grid along an axis that has something between them.
type side struct{ axis, a, b int }

// sides lists all pairs of neighbours along the ordered axes.
func (s *Sweep) sides() []side {
	var all []side
	stride := 1
	for axis := range s.Axes {
		n := len(s.Axes[axis].Levels)
		for i := range s.Points {
			if s.Axes[axis].Ordered() && i/stride%n < n-1 {
				all = append(all, side{axis, i, i + stride})
			}
		}
		stride *= n
	}
	return all
}

// between is the combination of values on a side at a number of its axis.
func (s *Sweep) between(e side, n int64) []Level {
	levels := slices.Clone(s.Points[e.a].Levels)
	levels[e.axis] = s.Axes[e.axis].Keys[0].number(n)
	return levels
}

// crossed is what bisecting a side has brought.
type crossed struct {
	edges []Edge
	tried []*Point
}

// cross bisects, on one side, the edges of all laws that come out otherwise at its ends.
func (w *sweeper) cross(e side, resolution int64) (crossed, error) {
	a, b := w.Points[e.a], w.Points[e.b]
	lo, hi := a.Levels[e.axis].N, b.Levels[e.axis].N
	var laws []checker.Law
	for _, law := range w.Laws {
		if flips(a, b, law) {
			laws = append(laws, law)
		}
	}
	var out crossed
	known := map[int64]*Point{lo: a, hi: b}
	var failed error
	stopped := false
	point := func(n int64) *Point {
		if p := known[n]; p != nil {
			return p
		}
		p, err := w.measure(w.between(e, n), laws)
		if err != nil {
			failed = err
			p = &Point{Problem: err.Error()}
		}
		known[n] = p
		out.tried = append(out.tried, p)
		return p
	}
	for _, law := range laws {
		at := func(n int64) (State, bool) {
			if stopped = stopped || w.ctx.Err() != nil; stopped && known[n] == nil {
				return Untold, false
			}
			p := point(n)
			stopped = stopped || p.Stopped
			return p.State(law), p.told(law)
		}
		for _, f := range bisect(lo, hi, a.State(law), b.State(law), resolution, at) {
			out.edges = append(out.edges,
				Edge{law, e.axis, e.a, known[f.last], known[f.first], f.before, f.after, f.exact, stopped && !f.exact})
		}
	}
	return out, failed
}

// flips reports whether a law comes out otherwise at b than at a, both of which were run.
func flips(a, b *Point, law checker.Law) bool {
	return a.State(law) != b.State(law) && a.told(law) && b.told(law)
}
