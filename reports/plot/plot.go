// Package plot draws diagrams with two axes: areas, lines and marks over them, and their legend, as SVG or PNG.
//
// Goals: equal diagrams give equal bytes, an SVG on every platform; on a page its colours are the page's, so that
// they follow the theme; what a colour says, a shape says too. A float64() around a product keeps compilers from fusing
// it with a sum.
//
// Non-goals: other diagrams. gonum.org/v1/plot is not used: its colours are constants, its pictures have no name for a
// screen reader, its sums are rounded differently from platform to platform, and it adds 7 MB to the program and 9 s of
// CPU time to a first build.
package plot

import "image/color"

// Ink is a colour. On a page it is the variable --plot-NAME of the style sheet.
type Ink struct {
	Name string
	RGB  color.NRGBA
}

// Inks of a diagram's own parts.
var (
	Black  = Ink{"black", color.NRGBA{0x14, 0x14, 0x14, 0xff}}
	Soft   = Ink{"soft", color.NRGBA{0x55, 0x5a, 0x62, 0xff}}
	Ground = Ink{"ground", color.NRGBA{0xff, 0xff, 0xff, 0xff}}
)

// Point is a place: in the units of the axes, or, in a picture, in points (1/72 inch) from its upper left corner.
type Point struct{ X, Y float64 }

// Diagram is a diagram. Areas are drawn first, then lines, then marks, each in their order.
type Diagram struct {
	Title, Subtitle string // above it; the subtitle is cut where there is no room
	Description     string // for those who cannot see it
	X, Y            Axis
	Areas           []Area
	Lines           []Line
	Marks           []Mark
	Columns, Rows   int // of marks, at most: they are so small that they do not touch
}

// Axis is one of the two.
type Axis struct {
	Label    string
	Min, Max float64 // the values at its ends
	Ticks    []Tick  // none: some round numbers
}

// Tick is a value that an axis names.
type Tick struct {
	Value float64
	Label string
}

// Words is an axis on which the words stand at 0, 1 and so on.
func Words(label string, words []string) Axis {
	a := Axis{Label: label, Min: -0.5, Max: float64(len(words)) - 0.5}
	for i, word := range words {
		a.Ticks = append(a.Ticks, Tick{float64(i), word})
	}
	return a
}

// Area is a polygon.
type Area struct {
	Ink    Ink
	Points []Point
	Name   string // in its middle, if there is room
	Text   Ink    // of the name
}

// Style is how a line is drawn.
type Style struct {
	Ink    Ink
	Width  float64 // in points
	Dashed bool
}

// Line is a line through points.
type Line struct {
	Style
	Points []Point
	Name   string // in the legend; empty: it is not there
	Value  string // of a vertical line, beside it
	Low    bool   // the value stands at the line's lower end
}

// Shape is the shape of a mark.
type Shape uint8

// Shapes, in the order of the legend.
const (
	Disc Shape = iota
	Triangle
	Cross
	Ring
	Dash
)

// Mark is a mark at a point.
type Mark struct {
	Shape Shape
	Ink   Ink
	At    Point
	Name  string // in the legend, which has one entry for a shape
}
