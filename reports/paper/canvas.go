// Package paper draws polygons, lines, discs and text, and gives them as SVG or PNG.
//
// Goals: the same calls give the same bytes on every platform. A text is as wide as Width says, in both forms.
// Non-goals: paths,
// gradients, pictures, and diagrams, which reports lays out.
package paper

import "image/color"

// Inch is an inch in points, the unit of all lengths.
const Inch = 72.0

// Point is a place on the paper, in points from its lower left corner.
type Point struct{ X, Y float64 }

// Canvas is a part of the paper. What is drawn may reach beyond it.
type Canvas struct {
	Min, Max Point
	sheet    *sheet
}

type sheet struct {
	width, height float64
	shapes        []shape
}

// shape is what was drawn by one call.
type shape interface {
	svg(to *svg)
	png(to *png)
}

// New makes paper of a size, without ground.
func New(width, height float64) Canvas {
	return Canvas{Max: Point{width, height}, sheet: &sheet{width: width, height: height}}
}

// Crop gives the part of c whose sides are moved so far to the right or up.
func (c Canvas) Crop(left, right, bottom, top float64) Canvas {
	c.Min.X += left
	c.Max.X += right
	c.Min.Y += bottom
	c.Max.Y += top
	return c
}

func (c Canvas) add(s shape) { c.sheet.shapes = append(c.sheet.shapes, s) }

// Stroke is how lines are drawn.
type Stroke struct {
	Ink    color.NRGBA
	Width  float64
	Dashes []float64 // drawn and left out in turn; none: a whole line
}

type polygon struct {
	ink    color.NRGBA
	points []Point
}

// Polygon fills a polygon.
func (c Canvas) Polygon(ink color.NRGBA, points []Point) { c.add(&polygon{ink, points}) }

type polyline struct {
	Stroke
	points []Point
}

// Line draws a line through the points.
func (c Canvas) Line(s Stroke, points ...Point) {
	if len(points) > 1 {
		c.add(&polyline{s, points})
	}
}

type disc struct {
	ink color.NRGBA
	at  Point
	r   float64
}

// Disc fills a circle.
func (c Canvas) Disc(ink color.NRGBA, at Point, r float64) { c.add(&disc{ink, at, r}) }

type ring struct {
	Stroke
	at Point
	r  float64
}

// Ring draws a circle.
func (c Canvas) Ring(s Stroke, at Point, r float64) { c.add(&ring{s, at, r}) }

// Align is where a text lies to the place at which it is written.
type Align uint8

// Of an Align across, Start is the text's left end; of one up, its base line. End is its right end, or its top.
const (
	Start Align = iota
	Center
	End
)

// Text is how text is written, in Liberation Sans.
type Text struct {
	Ink    color.NRGBA
	Size   float64 // of the font
	Bold   bool
	X, Y   Align
	Turned bool // it runs upwards
}

type words struct {
	Text
	at   Point
	text string
}

// Write writes text.
func (c Canvas) Write(t Text, at Point, text string) { c.add(&words{t, at, text}) }

// capHeight is how high capitals are, as a share of the font's size.
const capHeight = 0.72

// base is where the base line of the words begins, or, if it is not to be moved along, where it is to be aligned.
func (w *words) base(along bool) Point {
	across := 0.0
	if along {
		across = float64([...]float64{0, 0.5, 1}[w.X] * w.Width(w.text))
	}
	up := float64([...]float64{0, 0.5, 1}[w.Y] * capHeight * w.Size)
	if w.Turned {
		return Point{w.at.X + up, w.at.Y - across}
	}
	return Point{w.at.X - across, w.at.Y - up}
}
