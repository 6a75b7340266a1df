package sweepmap

import (
	"github.com/fencepost-sim/fencepost/reports/paper"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
)

// contour draws regions of a grid of numbers, and the curves between them, by marching squares: each square of four
// neighbouring points is divided along straight lines between the places at which its sides are crossed, and these
// places are known, not guessed.
type contour struct {
	across, up []float64 // where the points stand
	classes    []int     // of the points, the first axis fastest
	// crossing is where the class changes on the side that begins at a point and leads along an axis.
	crossing map[crossed]float64
}

type crossed struct{ point, axis int }

// corner is a corner of a square or the crossing of a side.
type corner struct {
	at    paper.Point
	class int
	cross bool
}

// square lists corners and crossings of a square, around it; i is its lower left point.
func (k *contour) square(i int) []corner {
	n := len(k.across)
	x, y := i%n, i/n
	corners := [4]int{i, i + 1, i + n + 1, i + n}
	places := [4]paper.Point{{X: k.across[x], Y: k.up[y]}, {X: k.across[x+1], Y: k.up[y]},
		{X: k.across[x+1], Y: k.up[y+1]}, {X: k.across[x], Y: k.up[y+1]}}
	sides := [4]crossed{{i, 0}, {i + 1, 1}, {i + n, 0}, {i, 1}}
	var around []corner
	for s := range 4 {
		a, b := k.classes[corners[s]], k.classes[corners[(s+1)%4]]
		around = append(around, corner{places[s], a, false})
		if a == b {
			continue
		}
		at := paper.Point{X: (places[s].X + places[(s+1)%4].X) / 2, Y: (places[s].Y + places[(s+1)%4].Y) / 2}
		if known, ok := k.crossing[sides[s]]; ok {
			if sides[s].axis == 0 {
				at.X = known
			} else {
				at.Y = known
			}
		}
		around = append(around, corner{at, a, true})
	}
	return around
}

// each hands out the squares.
func (k *contour) each(square func(around []corner)) {
	for y := range len(k.up) - 1 {
		for x := range len(k.across) - 1 {
			square(k.square(y*len(k.across) + x))
		}
	}
}

// regions colours the squares. One with more than two classes, or in which two regions touch, is divided so that each
// corner has its own part and no more; what is left in the middle goes to the fallback, the class that claims least.
func (k *contour) regions(fill func(class int, shape []paper.Point), least func(a, b int) int) {
	k.each(func(around []corner) {
		var crossings []int
		rest := around[0].class
		for i, c := range around {
			if c.cross {
				crossings = append(crossings, i)
			}
			rest = least(rest, c.class)
		}
		if len(crossings) == 0 {
			fill(rest, points(around))
			return
		}
		fill(rest, points(around))
		for i, from := range crossings { // the part between two crossings, which has one class
			to := crossings[(i+1)%len(crossings)]
			if to <= from {
				to += len(around)
			}
			var part []corner
			for s := from; s <= to; s++ {
				part = append(part, around[s%len(around)])
			}
			if class := part[1].class; class != rest {
				fill(class, points(part))
			}
		}
	})
}

// curve hands out the lines that part one class from the others.
func (k *contour) curve(class int, line func(a, b paper.Point)) {
	k.each(func(around []corner) {
		n := len(around)
		for i, c := range around {
			if !c.cross || around[(i+1)%n].class != class {
				continue
			}
			to := i + 1 // the class lasts until the next crossing
			for !around[to%n].cross {
				to++
			}
			line(c.at, around[to%n].at)
		}
	})
}

func points(around []corner) []paper.Point {
	var all []paper.Point
	for _, c := range around {
		all = append(all, c.at)
	}
	return all
}

// contour is that of the law on a canvas.
func (m *Map) contour(c paper.Canvas, p *plot) *contour {
	k := m.places(c, p)
	for i := range m.Law.Cells {
		k.classes = append(k.classes, int(m.Law.Cells[i].State))
	}
	for i := len(m.Law.Edges) - 1; i >= 0; i-- { // of several on one side the first that bounds what is safe counts
		e := m.Law.Edges[i]
		side := crossed{e.Point, e.Axis}
		if _, known := k.crossing[side]; known && e.Before != sweep.Safe && e.After != sweep.Safe {
			continue
		}
		a, to := &m.Axes[e.Axis], k.transforms[e.Axis]
		k.crossing[side] = (to(place(a, e.Last.Levels[e.Axis])) +
			to(place(a, e.First.Levels[e.Axis]))) / 2
	}
	return &k.contour
}

// placed is a contour with what places values on the canvas.
type placed struct {
	contour
	transforms [2]func(float64) float64
}

func (m *Map) places(c paper.Canvas, p *plot) *placed {
	x, y := p.places(c)
	k := &placed{transforms: [2]func(float64) float64{x, y}}
	k.crossing = map[crossed]float64{}
	for i := range m.Axes[0].Levels {
		k.across = append(k.across, x(spot(&m.Axes[0], i)))
	}
	for i := range m.Axes[1].Levels {
		k.up = append(k.up, y(spot(&m.Axes[1], i)))
	}
	return k
}

// regions colours where the law is safe and where it is broken.
func (m *Map) regions(c paper.Canvas, p *plot) {
	m.contour(c, p).regions(func(class int, shape []paper.Point) {
		ink := field(sweep.State(class))
		c.Polygon(ink, shape)
		c.Line(paper.Stroke{Ink: ink, Width: .7}, append(shape, shape[0])...) // closes the seams
	}, func(a, b int) int {
		for _, s := range []sweep.State{sweep.Invalid, sweep.Unjudged, sweep.Broken, sweep.Chance} {
			if a == int(s) || b == int(s) {
				return int(s)
			}
		}
		return a
	})
}

// curves draws the edge of the safe region, and the bounds of asserted conditions.
func (m *Map) curves(c paper.Canvas, p *plot) {
	halo := paper.Stroke{Ink: plotGround, Width: 3.4}
	k := m.contour(c, p)
	for _, style := range []paper.Stroke{halo, edgeLine} {
		k.curve(int(sweep.Safe),
			func(a, b paper.Point) { c.Line(style, paper.Point{X: a.X, Y: a.Y}, paper.Point{X: b.X, Y: b.Y}) })
	}
	for i := range m.Asserted {
		m.claim(c, p, &m.Asserted[i])
	}
}

// claim draws the bound of a condition.
func (m *Map) claim(c paper.Canvas, p *plot, a *sweep.Asserted) {
	k := m.places(c, p)
	for _, is := range a.True {
		class := 0
		if is {
			class = 1
		}
		k.classes = append(k.classes, class)
	}
	for _, t := range a.Turns {
		k.crossing[crossed{t.Point, t.Axis}] = k.transforms[t.Axis](place(&m.Axes[t.Axis], t.At))
	}
	k.curve(1, func(a, b paper.Point) {
		c.Line(claimLine, paper.Point{X: a.X, Y: a.Y}, paper.Point{X: b.X, Y: b.Y})
	})
}
