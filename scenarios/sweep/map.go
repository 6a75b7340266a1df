package sweep

import (
	"image/color"
	"io"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/plot"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Map is a document block that shows the outcomes for one law: as a strip if the sweep has one axis, and as a map if it
// has two. It is drawn with symbols in the text form, and as a picture in the HTML form.
type Map struct {
	*Sweep
	Scenario string // name of the scenario
	Law      *Law
}

// Colors that people with color-vision deficiencies can distinguish (Okabe and Ito). Each is used with a different
// shape.
var (
	safeInk   = plot.Ink{Name: "safe", RGB: color.NRGBA{0x00, 0x4e, 0x7d, 0xff}}
	chanceInk = plot.Ink{Name: "chance", RGB: color.NRGBA{0x5e, 0x51, 0x00, 0xff}}
	brokenInk = plot.Ink{Name: "broken", RGB: color.NRGBA{0xa0, 0x3f, 0x00, 0xff}}
	openInk   = plot.Ink{Name: "open", RGB: color.NRGBA{0x60, 0x60, 0x60, 0xff}}
	claimInk  = plot.Ink{Name: "claim", RGB: color.NRGBA{0x7b, 0x2d, 0x8b, 0xff}}
)

// Line styles for the borders between safe and unsafe regions, and for the border of the region in which an assertion's
// condition is true.
var (
	edgeLine  = plot.Line{Style: plot.Style{Ink: plot.Black, Width: 1.8}, Name: "edge, bisected"}
	edgeHalo  = plot.Line{Style: plot.Style{Ink: plot.Ground, Width: 3.4}}
	claimLine = plot.Line{Style: plot.Style{Ink: claimInk, Width: 1.6, Dashed: true}, Low: true,
		Name: "limit of the condition in an assertion"}
)

// fields are the background colors of the states, by rank. Where several regions meet, the color with the higher rank
// is used, because it makes the weaker claim.
var fields = []plot.Ink{
	{Name: "safe-field", RGB: color.NRGBA{0xcf, 0xe4, 0xf3, 0xff}},
	{Name: "chance-field", RGB: color.NRGBA{0xf5, 0xee, 0xbe, 0xff}},
	{Name: "broken-field", RGB: color.NRGBA{0xfb, 0xdc, 0xc4, 0xff}},
	{Name: "open-field", RGB: color.NRGBA{0xea, 0xea, 0xea, 0xff}},
	plot.Ground,
}

// rank returns the index of a state's color in fields.
func rank(s State) int {
	return slices.Index([]State{Safe, Chance, Broken, Unjudged, Invalid}, s)
}

// SVG writes the map as SVG, for a slide or a printed page. It returns any error from w.
func (m *Map) SVG(w io.Writer) error {
	_, err := io.WriteString(w, m.titled().SVG(720, 405))
	return err
}

// PNG writes the map as a PNG image of 1920 by 1080 pixels.
func (m *Map) PNG(w io.Writer) error { return m.titled().PNG(w, 720, 405, 192) }

// HTML draws the map twice: for a desktop, and with fewer words for a phone. The style sheet shows only one of the two.
func (m *Map) HTML(p *html.Writer) {
	p.Style(html.PlotStyle)
	p.Put(html.El("div", html.Class("diagram wide"), html.Raw(m.diagram(false).OnPage(720, 353))),
		html.El("div", html.Class("diagram narrow"), html.Raw(m.diagram(true).OnPage(317, 317))), html.Newline)
}

// titled returns the diagram with a heading that contains the information that a page shows around the diagram.
func (m *Map) titled() *plot.Diagram {
	d := m.diagram(false)
	d.Title = m.Scenario + ": " + string(m.Law.Law)
	at, fixed := m.at(), m.sharedSettings()
	if at != "" {
		fixed = fixed[1:]
	}
	d.Subtitle = strings.Join(append([]string{text.Count(m.Seeds, "run") + " at each point"}, fixed...), "; ")
	switch alone := len(m.Axes) == 1 && len(m.Law.Lines) == 1; {
	case alone && at != "":
		d.Subtitle = m.Law.Lines[0].Words(m.Axes[0].Name) + ", at " + at + " – " + d.Subtitle
	case alone:
		d.Subtitle = m.Law.Lines[0].Words(m.Axes[0].Name) + " – " + d.Subtitle
	case at != "":
		d.Subtitle = at + "; " + d.Subtitle
	}
	return d
}

// diagram draws the map. If both axes are ordered, it draws regions. If only one is ordered, it draws a band for each
// value of the other. If neither is ordered, it draws single cells.
func (m *Map) diagram(short bool) *plot.Diagram {
	d := &plot.Diagram{Columns: len(m.Axes[0].Levels), Rows: 1, X: m.axis(0, short),
		Y: plot.Axis{Label: "runs that broke the law", Max: 1, Ticks: []plot.Tick{{Value: 0, Label: "0%"},
			{Value: .25, Label: "25%"}, {Value: .5, Label: "50%"}, {Value: .75, Label: "75%"},
			{Value: 1, Label: "100%"}}}}
	d.Description = string(m.Law.Law) + " by " + d.X.Label
	if len(m.Axes) == 2 {
		d.Rows, d.Y = len(m.Axes[1].Levels), m.axis(1, short)
		d.Description += " and " + d.Y.Label
	}
	switch {
	case len(m.Axes) == 2 && ordered(&m.Axes[0]) && ordered(&m.Axes[1]):
		m.regions(d)
	case len(m.Law.Lines) > 0:
		for row := range m.Law.Lines {
			m.bands(d, row)
		}
	default:
		m.cells(d)
	}
	for i := range m.Law.Cells {
		d.Marks = append(d.Marks, m.mark(i))
	}
	return d
}

// axis returns the sweep's ith axis for the diagram.
func (m *Map) axis(i int, short bool) plot.Axis {
	a := &m.Axes[i]
	label := a.Name
	if title := m.title(i); title != a.Name && !short {
		label = title + " (" + a.Name + ")"
	}
	switch {
	case a.unit() == Rates && !strings.HasSuffix(a.Name, "ppm"):
		label += ", ppm"
	case a.unit() == Durations:
		label += map[float64]string{1e9: ", seconds", 1e6: ", milliseconds", 1e3: ", microseconds"}[scale(a)]
	}
	if ordered(a) {
		return plot.Axis{Label: label, Min: place(a, a.Levels[0]), Max: place(a, a.Levels[len(a.Levels)-1])}
	}
	var words []string
	for _, l := range a.Levels {
		words = append(words, l.Text)
	}
	return plot.Words(label, words)
}

// ordered reports whether the axis is ordered and has at least two levels.
func ordered(a *Axis) bool { return a.ordered() && len(a.Levels) > 1 }

// place returns a value's position on its axis: a number in the axis's unit or, if the axis is not ordered, the value's
// index.
func place(a *Axis, l Level) float64 {
	switch {
	case !ordered(a):
		return float64(slices.Index(a.Levels, l))
	case a.unit() == Durations:
		return float64(l.N) / scale(a)
	}
	return float64(l.N)
}

// scale returns the number of nanoseconds in one unit on the diagram's axis.
func scale(a *Axis) float64 {
	var most int64
	for _, l := range a.Levels {
		most = max(most, l.N, -l.N)
	}
	switch {
	case most >= 1e9:
		return 1e9
	case most >= 1e6:
		return 1e6
	}
	return 1e3
}

// mark returns a cell's mark. Each outcome's mark has a different shape. If the map has only one axis, the mark's
// height shows the share of runs that broke the law.
func (m *Map) mark(i int) plot.Mark {
	c := &m.Law.Cells[i]
	mark := map[string]plot.Mark{
		"✓": {Shape: plot.Disc, Ink: safeInk, Name: "held in all runs"},
		"±": {Shape: plot.Triangle, Ink: brokenInk, Name: "broken in some"},
		"✗": {Shape: plot.Cross, Ink: brokenInk, Name: "broken in all"},
		"?": {Shape: plot.Ring, Ink: openInk, Name: "not judged"},
		"–": {Shape: plot.Dash, Ink: openInk, Name: "no valid scenario"},
	}[c.sign()]
	n := len(m.Axes[0].Levels)
	mark.At.X = place(&m.Axes[0], m.Axes[0].Levels[i%n])
	if len(m.Axes) == 2 {
		mark.At.Y = place(&m.Axes[1], m.Axes[1].Levels[i/n])
	} else if runs := c.Exercised() + c.Undecided + c.Unchecked; runs > 0 {
		mark.At.Y = float64(c.Violated) / float64(runs)
	}
	return mark
}

// cells colors a map without ordered axes.
func (m *Map) cells(d *plot.Diagram) {
	for i := range m.Law.Cells {
		x, lo, hi := float64(i%d.Columns), d.Y.Min, d.Y.Max
		if len(m.Axes) == 2 {
			lo, hi = float64(i/d.Columns)-.5, float64(i/d.Columns)+.5
		}
		d.Areas = append(d.Areas, plot.Area{Ink: fields[rank(m.Law.Cells[i].State)],
			Points: []plot.Point{{X: x - .5, Y: lo}, {X: x + .5, Y: lo}, {X: x + .5, Y: hi}, {X: x - .5, Y: hi}}})
	}
}

// bands colors one line of the grid, which lies along an ordered axis. It also draws the line's edges and the limits
// set by the assertions' conditions. On a strip, the line spans the whole height. On a map, it spans the row or column
// of its value on the other axis. The border between two tried values is halfway between them.
func (m *Map) bands(d *plot.Diagram, row int) {
	l := &m.Law.Lines[row]
	a, lo, hi := &m.Axes[l.Axis], float64(row)-.42, float64(row)+.42
	along := [2]plot.Axis{d.X, d.Y}[l.Axis]
	strip := len(m.Axes) == 1
	if strip {
		lo, hi = d.Y.Min, d.Y.Max
	}
	at := func(value, across float64) plot.Point {
		if l.Axis == 1 {
			return plot.Point{X: across, Y: value}
		}
		return plot.Point{X: value, Y: across}
	}
	line := func(style plot.Line, value float64, words string) {
		style.Points = []plot.Point{at(value, lo), at(value, hi)}
		if strip {
			style.Value = words
		}
		d.Lines = append(d.Lines, style)
	}
	from := along.Min
	for i, s := range l.Stretches {
		to := along.Max
		if i < len(l.Stretches)-1 {
			next := l.Stretches[i+1]
			to = (place(a, s.To) + place(a, next.From)) / 2
			switch {
			case !m.isEdge(l, s.To, next.From):
			case s.State == Safe || s.State == Broken && next.State != Safe:
				line(edgeLine, to, s.To.Text)
			default:
				line(edgeLine, to, next.From.Text)
			}
		}
		area := plot.Area{Ink: fields[rank(s.State)],
			Points: []plot.Point{at(from, lo), at(to, lo), at(to, hi), at(from, hi)}}
		if strip {
			area.Name = s.State.String()
			area.Text = []plot.Ink{safeInk, chanceInk, brokenInk, openInk, openInk}[rank(s.State)]
		}
		d.Areas = append(d.Areas, area)
		from = to
	}
	for i := range m.Asserted {
		for _, t := range m.Asserted[i].Turns {
			if t.Axis == l.Axis && [2]int{t.Point / d.Columns, t.Point % d.Columns}[l.Axis] == row {
				line(claimLine, place(a, t.At), t.At.Text)
			}
		}
	}
}

// isEdge reports whether there is a bisected edge between two values on a line.
func (m *Map) isEdge(l *Line, last, first Level) bool {
	return slices.ContainsFunc(m.Law.Edges, func(e *Edge) bool {
		return e.Axis == l.Axis && e.Last.Levels[l.Axis] == last && e.First.Levels[l.Axis] == first &&
			(l.Other == nil || e.Last.Levels[1-l.Axis] == *l.Other)
	})
}

// grid returns the grid for a map with two ordered axes. The ranks of its points are not set yet.
func (m *Map) grid() *plot.Grid {
	g := &plot.Grid{Cross: map[plot.Side]float64{}}
	for i, to := range []*[]float64{&g.X, &g.Y} {
		for _, l := range m.Axes[i].Levels {
			*to = append(*to, place(&m.Axes[i], l))
		}
	}
	return g
}

// regions colors the cells of a map with two ordered axes. It also draws the border of the safe region and the limits
// set by the assertions' conditions.
func (m *Map) regions(d *plot.Diagram) {
	g := m.grid()
	for i := range m.Law.Cells {
		g.Rank = append(g.Rank, rank(m.Law.Cells[i].State))
	}
	// if there are several edges between the same two neighboring points, use the first one that bounds a safe region
	for i := len(m.Law.Edges) - 1; i >= 0; i-- {
		e := m.Law.Edges[i]
		side := plot.Side{Point: e.Point, Axis: e.Axis}
		if _, known := g.Cross[side]; !known || e.Bounds() {
			a := &m.Axes[e.Axis]
			g.Cross[side] = (place(a, e.Last.Levels[e.Axis]) + place(a, e.First.Levels[e.Axis])) / 2
		}
	}
	d.Areas = g.Areas(fields)
	border := func(g *plot.Grid, rank int, style plot.Line) {
		for _, piece := range g.Border(rank) {
			style.Points = piece
			d.Lines = append(d.Lines, style)
		}
	}
	border(g, rank(Safe), edgeHalo)
	border(g, rank(Safe), edgeLine)
	for i := range m.Asserted {
		g := m.grid()
		for _, is := range m.Asserted[i].True {
			g.Rank = append(g.Rank, map[bool]int{true: 1}[is])
		}
		for _, t := range m.Asserted[i].Turns {
			g.Cross[plot.Side{Point: t.Point, Axis: t.Axis}] = place(&m.Axes[t.Axis], t.At)
		}
		border(g, 1, claimLine)
	}
}
