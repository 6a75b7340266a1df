package sweepmap

import (
	"image/color"

	"github.com/fencepost-sim/fencepost/reports/paper"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
)

// strip draws one axis: the share of runs in which the law was broken at each point, over the stretches on which it is
// safe.
func (m *Map) strip(p *plot) {
	m.set(0, &p.X)
	p.Y.label = "runs that broke the law"
	p.Y.min, p.Y.max = 0, 1
	p.Y.padding = 10
	p.Y.ticks = []mark{{value: 0, label: "0 %"}, {value: .25, label: "25 %"}, {value: .5, label: "50 %"},
		{value: .75, label: "75 %"}, {value: 1, label: "100 %"}}
	p.draw = append(p.draw, m.fields, m.edges, m.shares)
}

// fields colours the stretches, or the cells where there are none.
func (m *Map) fields(c paper.Canvas, p *plot) {
	x, _ := p.places(c)
	a := &m.Axes[0]
	if len(m.Law.Lines) == 0 {
		for i := range a.Levels {
			paint(c, field(m.Law.Cells[i].State), x(float64(i)-.5), x(float64(i)+.5), c.Min.Y, c.Max.Y)
		}
		return
	}
	bands(a, m.Law.Lines[0].Stretches, x, c.Min.X, c.Max.X, func(s sweep.State, from, to float64) {
		paint(c, field(s), from, to, c.Min.Y, c.Max.Y)
		name := sans(14, ink(s))
		name.X, name.Y = paper.Center, paper.Center
		if name.Width(s.String())+12 < to-from {
			c.Write(name, paper.Point{X: (from + to) / 2, Y: (c.Min.Y + c.Max.Y) / 2}, s.String())
		}
	})
}

// bands hands out where stretches begin and end: in the middle between two neighbours, the first and the last at the
// ends.
func bands(a *sweep.Axis, stretches []sweep.Stretch, at func(float64) float64, from, to float64,
	band func(s sweep.State, from, to float64)) {
	for i, s := range stretches {
		end := to
		if i < len(stretches)-1 {
			end = (at(place(a, s.To)) + at(place(a, stretches[i+1].From))) / 2
		}
		band(s.State, from, end)
		from = end
	}
}

// paint colours a rectangle.
func paint(c paper.Canvas, ink color.NRGBA, x0, x1, y0, y1 float64) {
	c.Polygon(ink, []paper.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}

// edges draws the edges, and where conditions turn, and then the values of all.
func (m *Map) edges(c paper.Canvas, p *plot) {
	x, _ := p.places(c)
	a := &m.Axes[0]
	text := sans(12, edgeInk)
	var labels []func()
	for i := range m.Law.Edges {
		e := m.Law.Edges[i]
		at := (x(place(a, e.Last.Levels[0])) + x(place(a, e.First.Levels[0]))) / 2
		c.Line(edgeLine, paper.Point{X: at, Y: c.Min.Y}, paper.Point{X: at, Y: c.Max.Y})
		value := e.First.Levels[0].Text
		if e.Before == sweep.Safe || e.Before == sweep.Broken && e.After != sweep.Safe {
			value = e.Last.Levels[0].Text
		}
		labels = append(labels, func() { label(c, text, at, c.Max.Y-22-float64(22*(i%3)), false, value) })
	}
	claim := sans(12, claimInk)
	for i := range m.Asserted {
		for k, t := range m.Asserted[i].Turns {
			at := x(place(a, t.At))
			c.Line(claimLine, paper.Point{X: at, Y: c.Min.Y}, paper.Point{X: at, Y: c.Max.Y})
			labels = append(labels, func() { label(c, claim, at, c.Min.Y+24+float64(22*((i+k)%3)), true, t.At.Text) })
		}
	}
	for _, draw := range labels {
		draw()
	}
}

// label writes beside a line, on a ground of its own: at its right or left as it is asked, or on the other side if
// there is no room.
func label(c paper.Canvas, text paper.Text, x, y float64, right bool, words string) {
	width := text.Width(words)
	if right = right && x+width+10 < c.Max.X || x-width-10 < c.Min.X; right {
		x += 6
	} else {
		x -= width + 6
	}
	paint(c, plotGround, x-3, x+width+3, y-4, y+text.Size+1)
	c.Write(text, paper.Point{X: x, Y: y}, words)
}

// shares draws the points.
func (m *Map) shares(c paper.Canvas, p *plot) {
	x, y := p.places(c)
	a := &m.Axes[0]
	r := min(max((c.Max.X-c.Min.X)/float64(len(a.Levels))/3, 1.5), 4.5)
	for i := range a.Levels {
		cell := &m.Law.Cells[i]
		t := cell.Counts
		share := 0.0
		if runs := t.Exercised() + t.Undecided + t.Unchecked; runs > 0 {
			share = float64(t.Violated) / float64(runs)
		}
		cell.shape(c, paper.Point{X: x(spot(a, i)), Y: y(share)}, r)
	}
}
