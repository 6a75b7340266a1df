package plot

import (
	"math"
	"strconv"
	"strings"
)

// canvas is the surface that a diagram is drawn on. All positions and lengths are in points (1/72 inch).
type canvas interface {
	polygon(i Ink, points ...Point)
	line(s Style, points ...Point)
	circle(s Style, at Point, r float64) // a filled circle if the style has no width
	write(t text, at Point, words string)
}

// dash is the length of the dashes in a dashed line, and gap is the length of the gaps between them, in points.
const dash, gap = 5, 3

// markRadius is the radius of the largest mark.
const markRadius = 4.5

// Axis sizes and distances, in points.
const (
	labelSize = 12.0 // font size of the axis label
	tickSize  = 11.0 // font size of the labels of ticks and of the legend
	padding   = 8.0  // distance between the area and a tick
	tickEnd   = padding + 6
	tickLabel = tickEnd + 3
	// The minimum distances between the ticks of a horizontal and a vertical axis.
	tickWidth, tickHeight = 45.0, 24.0
)

// box is a rectangle in the picture.
type box struct{ left, top, right, bottom float64 }

// plane is the part of the picture between the axes.
type plane struct {
	canvas
	box
	*Diagram
}

// draw draws the diagram from top to bottom: heading, legend, and the area between the axes.
func (d *Diagram) draw(c canvas, b box) {
	b = box{b.left + 14, b.top + 12, b.right - 18, b.bottom - 10}
	if d.Title != "" {
		c.write(text{Ink: Black, size: 17, bold: true}, Point{b.left, b.top + capital*17}, d.Title)
		sub := text{Ink: Soft, size: 11.5}
		c.write(sub, Point{b.left, b.top + 23 + capital*11.5}, sub.cut(d.Subtitle, b.right-b.left))
		b.top += 44
	}
	b.top = d.legend(c, b) + 6
	p := plane{c, d.area(b), d}
	p.axes(b)
	p.areas()
	p.lines()
	cell := min((p.right-p.left)/float64(d.Columns), (p.bottom-p.top)/float64(d.Rows))
	for _, m := range d.Marks {
		m.draw(c, p.position(m.At), min(max(cell/3.5, 1.25), markRadius))
	}
}

// cut shortens the words if they are wider than room. It cuts at a space.
func (t *text) cut(words string, room float64) string {
	if t.width(words) <= room {
		return words
	}
	for t.width(words+" …") > room {
		words = words[:max(strings.LastIndexByte(words, ' '), 0)]
	}
	return words + " …"
}

// legend draws the legend's entries in one or more rows. It returns the position of the legend's lower edge.
func (d *Diagram) legend(c canvas, b box) float64 {
	const signWidth, between, lineHeight = 22, 20, 16
	t := text{Ink: Black, size: tickSize}
	x, y := b.left, b.top+8
	entry := func(name string, sign func(at Point)) {
		width := signWidth + t.width(name)
		if x+width > b.right && x > b.left {
			x, y = b.left, y+lineHeight
		}
		sign(Point{x + 9, y})
		c.write(t, Point{x + signWidth, y + float64(t.size*capital/2)}, name)
		x += width + between
	}
	for shape := range Dash + 1 {
		for _, m := range d.Marks {
			if m.Shape == shape {
				entry(m.Name, func(at Point) { m.draw(c, at, markRadius) })
				break
			}
		}
	}
	seen := map[string]bool{"": true}
	for _, l := range d.Lines {
		if !seen[l.Name] {
			seen[l.Name] = true
			entry(l.Name, func(at Point) { c.line(l.Style, Point{at.X - 9, at.Y}, Point{at.X + 9, at.Y}) })
		}
	}
	return y + 10
}

// area returns what remains of a box after the axes have taken up their space.
func (d *Diagram) area(b box) box {
	t := text{size: tickSize}
	widest := 0.0
	for _, tick := range d.Y.ticks(b.bottom-b.top, tickHeight) {
		widest = max(widest, t.width(tick.Label))
	}
	b.left += labelSize + 8 + tickLabel + widest
	b.top += tickSize / 2
	b.bottom -= labelSize + 5 + tickSize + tickLabel
	right := b.right
	for _, tick := range d.X.ticks(right-b.left, tickWidth) { // leave room for a label at the right end
		beyond := float64(t.width(tick.Label)/2) - float64((1-d.X.share(tick.Value))*(right-b.left))
		b.right = min(b.right, right-beyond)
	}
	return b
}

// share returns v's position along the axis, from 0 to 1.
func (a *Axis) share(v float64) float64 { return (v - a.Min) / (a.Max - a.Min) }

// ticks returns the axis ticks. If the diagram specifies none, it returns round numbers: as many as fit, but at most
// nine.
func (a *Axis) ticks(length, room float64) []Tick {
	if len(a.Ticks) > 0 {
		return a.Ticks
	}
	most := min(max(math.Floor(length/room), 3), 9)
	step := math.Pow10(int(math.Floor(math.Log10((a.Max - a.Min) / most))))
	for _, times := range []float64{1, 2, 5, 10} {
		if (a.Max-a.Min)/(step*times) <= most {
			step *= times
			break
		}
	}
	var ticks []Tick
	for n := math.Ceil(a.Min/step-1e-9) + 0; n*step <= a.Max+float64(step*1e-9); n++ { // + 0 turns minus zero into zero
		ticks = append(ticks, Tick{n * step, strconv.FormatFloat(n*step, 'g', 6, 64)})
	}
	return ticks
}

// position converts a point from axis units to a position in the picture.
func (p *plane) position(v Point) Point {
	return Point{p.left + float64(p.X.share(v.X)*(p.right-p.left)), p.bottom - float64(p.Y.share(v.Y)*(p.bottom-p.top))}
}

func (p *plane) positions(values []Point) (places []Point) {
	for _, v := range values {
		places = append(places, p.position(v))
	}
	return places
}

// axes draws the axes on the left and bottom sides of the box around the plane.
func (p *plane) axes(around box) {
	tick := Style{Ink: Soft, Width: .5}
	name, label := text{Ink: Black, size: labelSize, anchor: .5}, text{Ink: Black, size: tickSize, anchor: .5}
	for _, t := range p.X.ticks(p.right-p.left, tickWidth) {
		x := p.position(Point{t.Value, p.Y.Min}).X
		p.line(tick, Point{x, p.bottom + padding}, Point{x, p.bottom + tickEnd})
		p.write(label, Point{x, p.bottom + tickLabel + capital*tickSize}, t.Label)
	}
	p.write(name, Point{(p.left + p.right) / 2, around.bottom - 3}, p.X.Label)
	label.anchor = 1
	for _, t := range p.Y.ticks(p.bottom-p.top, tickHeight) {
		y := p.position(Point{p.X.Min, t.Value}).Y
		p.line(tick, Point{p.left - padding, y}, Point{p.left - tickEnd, y})
		p.write(label, Point{p.left - tickLabel, y + capital*tickSize/2}, t.Label)
	}
	name.turned = true
	p.write(name, Point{around.left + labelSize, (p.top + p.bottom) / 2}, p.Y.Label)
}

// areas draws the areas, and their names if there is room.
func (p *plane) areas() {
	for _, a := range p.Areas {
		points := p.positions(a.Points)
		p.polygon(a.Ink, points...)
		p.line(Style{Ink: a.Ink, Width: .7}, append(points, points[0])...) // hide the seams between areas
	}
	for _, a := range p.Areas {
		t := text{Ink: a.Text, size: 14, anchor: .5}
		points := p.positions(a.Points)
		lo, hi := points[0], points[0]
		for _, at := range points {
			lo, hi = Point{min(lo.X, at.X), min(lo.Y, at.Y)}, Point{max(hi.X, at.X), max(hi.Y, at.Y)}
		}
		if a.Name != "" && t.width(a.Name)+12 < hi.X-lo.X {
			p.write(t, Point{(lo.X + hi.X) / 2, float64((lo.Y+hi.Y)/2) + float64(capital*t.size/2)}, a.Name)
		}
	}
}

// lines draws the lines, and then their values.
func (p *plane) lines() {
	for _, l := range p.Lines {
		p.line(l.Style, p.positions(l.Points)...)
	}
	high, low := 0, 0
	for _, l := range p.Lines {
		switch at := p.position(l.Points[0]); {
		case l.Value == "":
		case l.Low:
			p.writeValue(l, Point{at.X, p.bottom - 24 - float64(22*(low%3))})
			low++
		default:
			p.writeValue(l, Point{at.X, p.top + 22 + float64(22*(high%3))})
			high++
		}
	}
}

// writeValue writes a line's value on its own background. If l.Low is set, it writes the value to the right of the
// line, and otherwise to the left. If there is no room on that side, it uses the other side.
func (p *plane) writeValue(l Line, at Point) {
	t := text{Ink: l.Ink, size: labelSize}
	width := t.width(l.Value)
	if right := l.Low && at.X+width+10 < p.right || at.X-width-10 < p.left; right {
		at.X += 6
	} else {
		at.X -= width + 6
	}
	p.polygon(Ground, Point{at.X - 3, at.Y + 4}, Point{at.X + width + 3, at.Y + 4},
		Point{at.X + width + 3, at.Y - t.size - 1}, Point{at.X - 3, at.Y - t.size - 1})
	p.write(t, at, l.Value)
}

// draw draws a mark with radius r.
func (m *Mark) draw(c canvas, at Point, r float64) {
	dot := func(x, y float64) Point { return Point{at.X + float64(x*r), at.Y + float64(y*r)} }
	stroke := Style{Ink: m.Ink, Width: r * 0.55}
	switch m.Shape {
	case Disc:
		c.circle(Style{Ink: m.Ink}, at, r)
	case Triangle:
		c.polygon(m.Ink, dot(0, -1.15), dot(1.1, .85), dot(-1.1, .85))
	case Cross:
		c.line(stroke, dot(-.9, -.9), dot(.9, .9))
		c.line(stroke, dot(-.9, .9), dot(.9, -.9))
	case Ring:
		c.circle(Style{Ink: m.Ink, Width: r * 0.4}, at, .85*r)
	case Dash:
		c.line(stroke, dot(-.8, 0), dot(.8, 0))
	}
}
