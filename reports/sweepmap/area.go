package sweepmap

import (
	"github.com/fencepost-sim/fencepost/reports/paper"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
)

// area draws two axes.
func (m *Map) area(p *plot) {
	m.set(0, &p.X)
	m.set(1, &p.Y)
	switch {
	case ordered(&m.Axes[0]) && ordered(&m.Axes[1]):
		p.draw = append(p.draw, m.regions, m.curves)
	case len(m.Law.Lines) > 0:
		p.draw = append(p.draw, m.stripes)
	default:
		p.draw = append(p.draw, m.cells)
	}
	p.draw = append(p.draw, m.points)
}

// points draws the sign of each point that was tried.
func (m *Map) points(c paper.Canvas, p *plot) {
	x, y := p.places(c)
	across, up := &m.Axes[0], &m.Axes[1]
	n := len(across.Levels)
	r := min((c.Max.X-c.Min.X)/float64(n), (c.Max.Y-c.Min.Y)/float64(len(up.Levels))) / 4
	r = min(max(r, 1), 4.5)
	for i := range m.Law.Cells {
		m.Law.Cells[i].shape(c, paper.Point{X: x(spot(across, i%n)), Y: y(spot(up, i/n))}, r)
	}
}

// cells colours a map of words.
func (m *Map) cells(c paper.Canvas, p *plot) {
	x, y := p.places(c)
	n := len(m.Axes[0].Levels)
	for i := range m.Law.Cells {
		across, up := float64(i%n), float64(i/n)
		paint(c, field(m.Law.Cells[i].State), x(across-.5), x(across+.5), y(up-.5), y(up+.5))
	}
}

// stripes colours a map of numbers for each of some words, and draws its edges and the bounds of conditions.
func (m *Map) stripes(c paper.Canvas, p *plot) {
	x, y := p.places(c)
	for row := range m.Law.Lines {
		l := &m.Law.Lines[row]
		t := stripe{c, l.Axis == 0, y(float64(row) - .42), y(float64(row) + .42)}
		along, from, to := x, c.Min.X, c.Max.X
		if !t.flat {
			t.lo, t.hi = x(float64(row)-.42), x(float64(row)+.42)
			along, from, to = y, c.Min.Y, c.Max.Y
		}
		a := &m.Axes[l.Axis]
		bands(a, l.Stretches, along, from, to, func(s sweep.State, from, end float64) {
			t.fill(s, from, end)
			if end < to {
				t.line(edgeLine, end)
			}
		})
		for i := range m.Asserted {
			for _, turn := range m.Asserted[i].Turns {
				if n := len(m.Axes[0].Levels); turn.Axis == l.Axis &&
					[2]int{turn.Point / n, turn.Point % n}[l.Axis] == row {
					t.line(claimLine, along(place(a, turn.At)))
				}
			}
		}
	}
}

// stripe is the part of a map that belongs to one word.
type stripe struct {
	paper.Canvas
	flat   bool    // it lies; otherwise it stands
	lo, hi float64 // its two long sides
}

// fill colours a piece of the stripe.
func (t *stripe) fill(s sweep.State, from, to float64) {
	if t.flat {
		paint(t.Canvas, field(s), from, to, t.lo, t.hi)
	} else {
		paint(t.Canvas, field(s), t.lo, t.hi, from, to)
	}
}

// line draws a line across the stripe.
func (t *stripe) line(style paper.Stroke, at float64) {
	if t.flat {
		t.Line(style, paper.Point{X: at, Y: t.lo}, paper.Point{X: at, Y: t.hi})
	} else {
		t.Line(style, paper.Point{X: t.lo, Y: at}, paper.Point{X: t.hi, Y: at})
	}
}
