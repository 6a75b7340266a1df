// Package plot draws diagrams with two axes as SVG or PNG. A diagram has areas, with lines and marks drawn over them,
// and a legend.
//
// Goals: the same diagram always gives the same bytes, and the same SVG on every platform. On a page, the diagram uses
// the page's colors and so follows the theme. Everything that a color expresses is also expressed by a shape. If a
// product is part of a sum, it is converted with float64(). Otherwise, some compilers would fuse the multiplication
// with the addition, and the result would be rounded differently.
//
// Non-goals: other diagrams. gonum.org/v1/plot is not used: its colors are constants, its pictures have no name for a
// screen reader, its sums are rounded differently on different platforms, and it adds 7 MB to the program and 9 s of
// CPU time to a first build.
package plot

import "image/color"

// Ink is a color. On a page it is the CSS variable --plot-NAME.
type Ink struct {
	Name string
	RGB  color.NRGBA
}

// The colors used by every diagram.
var (
	Black  = Ink{"black", color.NRGBA{0x14, 0x14, 0x14, 0xff}}
	Soft   = Ink{"soft", color.NRGBA{0x55, 0x5a, 0x62, 0xff}}
	Ground = Ink{"ground", color.NRGBA{0xff, 0xff, 0xff, 0xff}}
)

// Point is a position. In a diagram, its units are those of the axes. In a picture, it is in points (1/72 inch) from
// the upper left corner.
type Point struct{ X, Y float64 }

// A Diagram is drawn in layers: first the areas, then the lines, then the marks, each in list order.
type Diagram struct {
	Title, Subtitle string // shown above the diagram; the subtitle is shortened if there is not enough room
	Description     string // a description for readers who cannot see the diagram
	X, Y            Axis
	Areas           []Area
	Lines           []Line
	Marks           []Mark
	// the largest number of marks in any row and in any column; the marks are drawn small enough not to touch
	Columns, Rows int
}

// Axis is a diagram's horizontal or vertical axis.
type Axis struct {
	Label    string
	Min, Max float64 // the values at its two ends
	Ticks    []Tick  // if there are none, a few round numbers are used
}

// Tick is a labeled value on an axis.
type Tick struct {
	Value float64
	Label string
}

// Words returns an axis with the given words as labels for its values 0, 1 and so on.
func Words(label string, words []string) Axis {
	a := Axis{Label: label, Min: -0.5, Max: float64(len(words)) - 0.5}
	for i, word := range words {
		a.Ticks = append(a.Ticks, Tick{float64(i), word})
	}
	return a
}

// Area is a filled polygon in a diagram.
type Area struct {
	Ink    Ink
	Points []Point
	Name   string // shown in the middle of the area, if there is room
	Text   Ink    // color of the name
}

// Style says how a line is drawn.
type Style struct {
	Ink    Ink
	Width  float64 // width in points
	Dashed bool
}

// Line is a line in a diagram, drawn from point to point.
type Line struct {
	Style
	Points []Point
	Name   string // name in the legend; if empty, the line has no entry there
	Value  string // shown next to a vertical line
	Low    bool   // whether the value is at the line's lower end
}

// Shape is the shape of a mark.
type Shape uint8

// Mark shapes, in legend order.
const (
	Disc Shape = iota
	Triangle
	Cross
	Ring
	Dash
)

// A Mark marks a point in a diagram.
type Mark struct {
	Shape Shape
	Ink   Ink
	At    Point
	Name  string // name in the legend, which has one entry for each shape
}
