package reports

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// area draws two axes.
func (m *sweepMap) area(p *plot.Plot) {
	m.Axes[0].set(&p.X, m.frame)
	m.Axes[1].set(&p.Y, m.frame)
	switch {
	case m.Axes[0].ordered() && m.Axes[1].ordered():
		p.Add(plotFunc(m.regions), plotFunc(m.curves))
	case len(m.law.Lines) > 0:
		p.Add(plotFunc(m.stripes))
	default:
		p.Add(plotFunc(m.cells))
	}
	p.Add(plotFunc(m.points))
}

// points draws the sign of each point that was tried.
func (m *sweepMap) points(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	across, up := &m.Axes[0], &m.Axes[1]
	n := len(across.Levels)
	r := min((c.Max.X-c.Min.X)/vg.Length(n), (c.Max.Y-c.Min.Y)/vg.Length(len(up.Levels))) / 4
	r = min(max(r, 1), 4.5)
	for i := range m.law.Cells {
		m.law.Cells[i].shape(c, vg.Point{X: x(across.spot(i % n)), Y: y(up.spot(i / n))}, r)
	}
}

// cells colours a map of words.
func (m *sweepMap) cells(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	n := len(m.Axes[0].Levels)
	for i := range m.law.Cells {
		across, up := float64(i%n), float64(i/n)
		paint(c, m.law.Cells[i].state().field(), x(across-.5), x(across+.5), y(up-.5), y(up+.5))
	}
}

// stripes colours a map of numbers for each of some words, and draws its edges.
func (m *sweepMap) stripes(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for row := range m.law.Lines {
		l := &m.law.Lines[row]
		along := &m.Axes[l.Axis]
		if l.Axis == 0 {
			lo, hi := y(float64(row)-.42), y(float64(row)+.42)
			bands(along, l.Stretches, x, c.Min.X, c.Max.X, func(s SweepState, from, to vg.Length) {
				paint(c, s.field(), from, to, lo, hi)
				if to < c.Max.X {
					c.StrokeLine2(edgeLine, to, lo, to, hi)
				}
			})
			continue
		}
		lo, hi := x(float64(row)-.42), x(float64(row)+.42)
		bands(along, l.Stretches, y, c.Min.Y, c.Max.Y, func(s SweepState, from, to vg.Length) {
			paint(c, s.field(), lo, hi, from, to)
			if to < c.Max.Y {
				c.StrokeLine2(edgeLine, lo, to, hi, to)
			}
		})
	}
}
