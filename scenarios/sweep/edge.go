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

// Bounds reports whether the law is safe on one side of the edge.
func (e *Edge) Bounds() bool { return e.Before == Safe || e.After == Safe }

// side joins two neighbours of the grid along an axis that has something between them.
type side struct{ axis, a, b int }

// sides lists all pairs of neighbours along the ordered axes.
func (s *Sweep) sides() []side {
	var all []side
	stride := 1
	for axis := range s.Axes {
		n := len(s.Axes[axis].Levels)
		for i := range s.Points {
			if s.Axes[axis].ordered() && i/stride%n < n-1 {
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

// crossing looks for the edges on a side, of all laws that come out otherwise at its ends.
type crossing struct {
	*sweeper
	side
	resolution int64
	laws       []checker.Law
	known      []*Point       // that make valid scenarios, in the order of their values: the ends, and those between
	tried      []*Point       // between
	blocked    map[int64]bool // values behind which no valid scenario was found
	// unusual are runs beyond the first ones that came out otherwise than these at some value. As all values are tried
	// with the same seeds, they are likely to do so nearby as well.
	unusual []int
}

func (w *sweeper) cross(e side, resolution int64) (*crossing, error) {
	c := &crossing{sweeper: w, side: e, resolution: resolution, blocked: map[int64]bool{},
		known: []*Point{w.Points[e.a], w.Points[e.b]}}
	for _, law := range w.Laws {
		if flips(w.Points[e.a], w.Points[e.b], law) {
			c.laws = append(c.laws, law)
		}
	}
	for w.ctx.Err() == nil {
		moved, err := c.step()
		if err != nil || !moved {
			return c, err
		}
	}
	return c, nil
}

// step halves the first gap over which some law comes out otherwise, or if there is none that is too wide makes sure of
// a point beside an edge. It reports whether there was anything to do.
func (c *crossing) step() (moved bool, err error) {
	for i, p := range c.known[1:] {
		if before := c.known[i]; c.flips(before, p) && c.wide(before, p) && !c.blocked[c.at(before)] {
			return true, c.halve(i)
		}
	}
	for i, p := range c.known[1:] {
		for _, law := range c.laws {
			for _, end := range []*Point{c.known[i], p} {
				if !flips(c.known[i], p, law) || c.sure(end, law) {
					continue
				}
				turned, err := c.more(end, upTo(c.Sure), c.laws)
				c.unusual = append(c.unusual, turned...)
				return true, err
			}
		}
	}
	return false, nil
}

// halve tries a value in the gap behind the ith of the known points.
func (c *crossing) halve(i int) error {
	from := c.at(c.known[i])
	gap := c.at(c.known[i+1]) - from
	middle := from + max(gap/2/c.resolution*c.resolution, c.resolution)
	p, err := c.measure(c.between(c.side, middle), upTo(c.Seeds, c.unusual...), c.laws)
	if err != nil {
		return err
	}
	c.tried = append(c.tried, p)
	if p.Problem != "" {
		c.blocked[from] = true
		return nil
	}
	c.known = slices.Insert(c.known, i+1, p)
	return nil
}

// edges lists what was found, law by law.
func (c *crossing) edges() (list []Edge) {
	for _, law := range c.laws {
		for i, p := range c.known[1:] {
			before := c.known[i]
			if !flips(before, p, law) {
				continue
			}
			exact := !c.wide(before, p) && c.sure(before, law) && c.sure(p, law)
			list = append(list, Edge{law, c.axis, c.a, before, p, before.State(law), p.State(law), exact,
				!exact && !c.blocked[c.at(before)]})
		}
	}
	return list
}

// at is the value of a point on the axis of the side.
func (c *crossing) at(p *Point) int64 { return p.Levels[c.axis].N }

// wide reports whether two points lie further apart than an edge may.
func (c *crossing) wide(a, b *Point) bool { return c.at(b)-c.at(a) > c.resolution }

func (c *crossing) flips(a, b *Point) bool {
	return slices.ContainsFunc(c.laws, func(law checker.Law) bool { return flips(a, b, law) })
}

// flips reports whether a law comes out otherwise at b than at a, both of which were run.
func flips(a, b *Point, law checker.Law) bool {
	return a.State(law) != b.State(law) && a.decided(law) && b.decided(law)
}
