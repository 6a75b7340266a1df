package sweepmap

import "github.com/fencepost-sim/fencepost/reports/paper"

// plot is a diagram with two axes.
type plot struct {
	X, Y axis
	draw []func(c paper.Canvas, p *plot) // what the area between the axes shows, in this order
}

// axis is one of them.
type axis struct {
	label    string
	min, max float64 // the values at its ends
	ticks    []mark
	padding  float64 // between it and the area
}

// mark is a value that an axis names.
type mark struct {
	value float64
	label string
}

// Sizes of an axis, in points.
const (
	axisLabelSize = 12.0
	tickLabelSize = 11.0
	tickLength    = 6.0
	tickGap       = 3.0 // between a tick and its label
	labelGap      = 5.0 // between the labels of the ticks and that of the axis
)

// show draws the axes at the left and lower sides of c, and the area between them.
func (p *plot) show(c paper.Canvas) {
	text := sans(tickLabelSize, edgeInk)
	left := axisLabelSize + labelGap + tickGap + tickLength + p.Y.padding
	widest := 0.0
	for _, t := range p.Y.ticks {
		widest = max(widest, text.Width(t.label))
	}
	left += widest
	bottom := axisLabelSize + labelGap + tickLabelSize + tickGap + tickLength + p.X.padding
	right := 0.0 // so that the last label has room
	for _, t := range p.X.ticks {
		if beyond := float64(text.Width(t.label)/2) -
			float64((1-p.X.share(t.value))*(c.Max.X-c.Min.X-left)); beyond > right {
			right = beyond
		}
	}
	area := c.Crop(left, -right, bottom, -tickLabelSize/2)
	p.drawX(c, area)
	p.drawY(c, area)
	for _, draw := range p.draw {
		draw(area, p)
	}
}

// share is how far along the axis a value lies, from 0 to 1.
func (a *axis) share(v float64) float64 {
	if a.max == a.min {
		return 0.5
	}
	return (v - a.min) / (a.max - a.min)
}

// places are where values lie in the area.
func (p *plot) places(area paper.Canvas) (x, y func(float64) float64) {
	return func(v float64) float64 { return area.Min.X + float64(p.X.share(v)*(area.Max.X-area.Min.X)) },
		func(v float64) float64 { return area.Min.Y + float64(p.Y.share(v)*(area.Max.Y-area.Min.Y)) }
}

var tickLine = paper.Stroke{Ink: softInk, Width: .5}

func (p *plot) drawX(c, area paper.Canvas) {
	at, _ := p.places(area)
	text := sans(tickLabelSize, edgeInk)
	text.X, text.Y = paper.Center, paper.End
	y := area.Min.Y - p.X.padding
	for _, t := range p.X.ticks {
		x := at(t.value)
		c.Line(tickLine, paper.Point{X: x, Y: y}, paper.Point{X: x, Y: y - tickLength})
		c.Write(text, paper.Point{X: x, Y: y - tickLength - tickGap}, t.label)
	}
	name := sans(axisLabelSize, edgeInk)
	name.X = paper.Center
	c.Write(name, paper.Point{X: (area.Min.X + area.Max.X) / 2, Y: c.Min.Y + 3}, p.X.label)
}

func (p *plot) drawY(c, area paper.Canvas) {
	_, at := p.places(area)
	text := sans(tickLabelSize, edgeInk)
	text.X, text.Y = paper.End, paper.Center
	x := area.Min.X - p.Y.padding
	for _, t := range p.Y.ticks {
		y := at(t.value)
		c.Line(tickLine, paper.Point{X: x, Y: y}, paper.Point{X: x - tickLength, Y: y})
		c.Write(text, paper.Point{X: x - tickLength - tickGap, Y: y}, t.label)
	}
	name := sans(axisLabelSize, edgeInk)
	name.X, name.Turned = paper.Center, true
	c.Write(name, paper.Point{X: c.Min.X + axisLabelSize, Y: (area.Min.Y + area.Max.Y) / 2}, p.Y.label)
}
