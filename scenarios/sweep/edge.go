package sweep

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
)

// flip is a change of state between two numbers.
type flip[S comparable] struct {
	last, first   int64 // the last number before the change, and the first number after it
	before, after S
	exact         bool // last and first are at most the resolution apart
}

// bisect finds changes of state between two numbers with different states. It halves the gap until the numbers on both
// sides of a change are at most the given resolution apart. It finds at least one change, but it may miss others,
// because it does not look between numbers with equal states. stateOf returns a number's state. If it returns false,
// the number has no state, and the search ends there.
func bisect[S comparable](lo, hi int64, before, after S, resolution int64, stateOf func(int64) (S, bool)) []flip[S] {
	if before == after {
		return nil
	}
	f := flip[S]{lo, hi, before, after, true}
	for f.first-f.last > resolution {
		half := max((f.first-f.last)/2/resolution*resolution, resolution)
		middle := f.last + half
		state, ok := stateOf(middle)
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
	return append([]flip[S]{f}, bisect(f.first, hi, f.after, after, resolution, stateOf)...)
}

// Edge is a position on an axis at which a law's outcome changes.
type Edge struct {
	Law   checker.Law
	Axis  int // index, from 0, of the axis along which the outcome changes
	Point int // grid index of the point before the edge
	// Last and First are the points tried on either side of the edge. They differ only in their value on the axis.
	Last, First   *Point
	Before, After State
	Exact         bool // Last and First are at most the resolution apart and have enough runs
	// Stopped is set if the sweep was interrupted before it had located the edge exactly. If neither Exact nor Stopped
	// is set, the sweep could go no further, because the point in the middle between Last and First is not a valid
	// scenario.
	Stopped bool
}

// Bounds reports whether the edge bounds a range in which the law is safe.
func (e *Edge) Bounds() bool { return e.Before == Safe || e.After == Safe }

// side is the interval between two neighboring grid points, a and b, on an ordered axis.
type side struct{ axis, a, b int }

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

// levelsOn returns the levels of the point on side e that has the value n on the side's axis.
func (s *Sweep) levelsOn(e side, n int64) []Level { return s.levelsAt(s.Points[e.a], e.axis, n) }

// levelsAt returns a point's levels, with the value on the given axis replaced by n.
func (s *Sweep) levelsAt(p *Point, axis int, n int64) []Level {
	levels := slices.Clone(p.Levels)
	levels[axis] = s.Axes[axis].Keys[0].number(n)
	return levels
}

// crossing is a search along one side of a grid cell. For each law whose outcome differs between the two ends of the
// side, it finds the value at which the outcome changes.
type crossing struct {
	*sweeper
	axis       int
	resolution int64
	laws       []checker.Law
	known      []*Point       // valid points in ascending order: the two ends and the points tried between them
	tried      []*Point       // points tried between the ends, valid or not
	blocked    map[int64]bool // values for which the middle of the gap after the value is not a valid scenario
	// unusual lists the numbers of the runs whose outcome was not that of the first runs at the same value. All values
	// are tried with the same seeds, so the same runs are likely to differ at nearby values, too.
	unusual []int
}

// crossing prepares to bisect the interval between a job's two points.
func (w *sweeper) crossing(j *job) *crossing {
	c := &crossing{sweeper: w, axis: j.Axis, resolution: w.resolution(j.Axis), blocked: map[int64]bool{},
		known: []*Point{j.A, j.B}}
	for _, law := range w.Laws {
		if flips(j.A, j.B, law) {
			c.laws = append(c.laws, law)
		}
	}
	return c
}

// cross bisects the interval between the two ends until there is nothing left to do or ctx is done.
func (c *crossing) cross() error {
	for c.ctx.Err() == nil {
		if moved, err := c.step(); err != nil || !moved {
			return err
		}
	}
	return nil
}

// add records the result of a bisection performed by another crossing.
func (c *crossing) add(o outcome) {
	for _, p := range o.Points {
		c.try(p)
	}
	for _, from := range o.Blocked {
		c.blocked[from] = true
	}
}

// try records that a point between the two ends of the interval was tried. It reports whether the point is valid.
func (c *crossing) try(p *Point) bool {
	c.tried = append(c.tried, p)
	if p.Problem != "" {
		return false
	}
	i := slices.IndexFunc(c.known, func(after *Point) bool { return c.at(after) > c.at(p) })
	c.known = slices.Insert(c.known, i, p)
	return true
}

// step halves the first gap in which a law's outcome changes. If all such gaps are narrow enough, it performs more runs
// of a point next to an edge. It reports whether there was anything to do.
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
				turned, err := c.runMore(end, upTo(c.Sure), c.laws)
				c.unusual = append(c.unusual, turned...)
				return true, err
			}
		}
	}
	return false, nil
}

// halve tries a value in the middle of the gap after the ith known point.
func (c *crossing) halve(i int) error {
	from := c.at(c.known[i])
	gap := c.at(c.known[i+1]) - from
	middle := from + max(gap/2/c.resolution*c.resolution, c.resolution)
	p := &Point{Levels: c.levelsAt(c.known[0], c.axis, middle)}
	if _, err := c.runMore(p, upTo(c.Seeds, c.unusual...), c.laws); err != nil {
		return err
	}
	if !c.try(p) {
		c.blocked[from] = true
	}
	return nil
}

// edges returns the edges found, ordered by law. point is the grid index of the point before them.
func (c *crossing) edges(point int) (list []Edge) {
	for _, law := range c.laws {
		for i, p := range c.known[1:] {
			before := c.known[i]
			if !flips(before, p, law) {
				continue
			}
			exact := !c.wide(before, p) && c.sure(before, law) && c.sure(p, law)
			list = append(list, Edge{law, c.axis, point, before, p, before.State(law), p.State(law), exact,
				!exact && !c.blocked[c.at(before)]})
		}
	}
	return list
}

// at returns a point's value on the search axis.
func (c *crossing) at(p *Point) int64 { return p.Levels[c.axis].N }

// wide reports whether two points are further apart than the resolution.
func (c *crossing) wide(a, b *Point) bool { return c.at(b)-c.at(a) > c.resolution }

func (c *crossing) flips(a, b *Point) bool {
	return slices.ContainsFunc(c.laws, func(law checker.Law) bool { return flips(a, b, law) })
}

// flips reports whether a law has different final outcomes at a and b.
func flips(a, b *Point, law checker.Law) bool {
	return a.State(law) != b.State(law) && a.decided(law) && b.decided(law)
}
