package sweepmap

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/paper"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
)

// frame is the paper of a picture.
type frame struct {
	width, height float64
	bare          bool // without heading: it stands on a page that says the same
	narrow        bool // for a phone: with fewer words and numbers
}

var (
	stage     = frame{width: 10 * paper.Inch, height: 5.625 * paper.Inch}
	onDesktop = frame{width: 10 * paper.Inch, height: 4.9 * paper.Inch, bare: true}
	onPhone   = frame{width: 4.4 * paper.Inch, height: 4.4 * paper.Inch, bare: true, narrow: true}
)

// plotDPI makes a PNG of the stage 1920 by 1080 pixels.
const plotDPI = 192

// Colours that people tell apart who do not see all of them (Okabe and Ito); each goes with a shape of its own.
var (
	safeInk     = color.NRGBA{0x00, 0x4e, 0x7d, 0xff}
	safeField   = color.NRGBA{0xcf, 0xe4, 0xf3, 0xff}
	chanceInk   = color.NRGBA{0x5e, 0x51, 0x00, 0xff}
	chanceField = color.NRGBA{0xf5, 0xee, 0xbe, 0xff}
	badInk      = color.NRGBA{0xa0, 0x3f, 0x00, 0xff}
	badField    = color.NRGBA{0xfb, 0xdc, 0xc4, 0xff}
	openInk     = color.NRGBA{0x60, 0x60, 0x60, 0xff}
	openField   = color.NRGBA{0xea, 0xea, 0xea, 0xff}
	edgeInk     = color.NRGBA{0x14, 0x14, 0x14, 0xff}
	claimInk    = color.NRGBA{0x7b, 0x2d, 0x8b, 0xff}
	softInk     = color.NRGBA{0x55, 0x5a, 0x62, 0xff}
	plotGround  = color.NRGBA{0xff, 0xff, 0xff, 0xff}
)

// SVG draws the map as SVG, for a stage or a page of paper. The error is w's.
func (m *Map) SVG(w io.Writer) error {
	_, err := io.WriteString(w, m.draw(stage).SVG())
	return err
}

// PNG draws the same as PNG.
func (m *Map) PNG(w io.Writer) error { return m.draw(stage).PNG(w, plotGround, plotDPI) }

// onPage draws the map as SVG for a web page that says the rest in words: for a desktop, or narrow for a phone. Its
// colours are variables of the page, which differ by theme: --map-safe and so on.
func (m *Map) onPage(narrow bool) string {
	f := onDesktop
	if narrow {
		f = onPhone
	}
	return pageInks.Replace(m.draw(f).SVG())
}

// pageInks names the colours of a picture by the page's own.
var pageInks = func() *strings.Replacer {
	var pairs []string
	for _, ink := range []struct {
		is   color.Color
		name string
	}{{safeInk, "safe"}, {safeField, "safe-field"}, {chanceInk, "chance"}, {chanceField, "chance-field"},
		{badInk, "broken"}, {badField, "broken-field"}, {openInk, "open"}, {openField, "open-field"},
		{edgeInk, "edge"}, {claimInk, "claim"}, {softInk, "soft"}, {plotGround, "ground"}} {
		r, g, b, _ := ink.is.RGBA()
		pairs = append(pairs, fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8), "var(--map-"+ink.name+")")
	}
	return strings.NewReplacer(pairs...)
}()

// draw draws heading, legend and map.
func (m *Map) draw(f frame) paper.Canvas {
	m.frame = f
	whole := paper.New(f.width, f.height)
	c := whole.Crop(14, -18, 10, -12)
	top := c.Max.Y
	if !m.bare {
		top = m.heading(c)
	}
	p := newPlot()
	if len(m.Axes) == 1 {
		m.strip(p)
	} else {
		m.area(p)
	}
	top = m.legend(c, top)
	p.show(c.Crop(0, 0, 0, top-c.Max.Y-6))
	return whole
}

// sans is text of a size.
func sans(size float64, ink color.NRGBA) paper.Text { return paper.Text{Ink: ink, Size: size} }

func newPlot() *plot { return &plot{X: axis{padding: 8}, Y: axis{padding: 8}} }

// heading writes what is shown; it returns how far down it reaches.
func (m *Map) heading(c paper.Canvas) float64 {
	title := sans(17, edgeInk)
	title.Bold = true
	title.Y = paper.End
	c.Write(title, paper.Point{X: c.Min.X, Y: c.Max.Y}, m.Scenario+": "+string(m.Law.Law))
	at, fixed := m.At(), m.With()
	if at != "" {
		fixed = fixed[1:]
	}
	words := strings.Join(append([]string{text.Count(m.Seeds, "run") + " at each point"}, fixed...), "; ")
	switch alone := len(m.Axes) == 1 && len(m.Law.Lines) == 1; {
	case alone && at != "":
		words = m.Law.Lines[0].Words(m.Axes[0].Name) + ", at " + at + " – " + words
	case alone:
		words = m.Law.Lines[0].Words(m.Axes[0].Name) + " – " + words
	case at != "":
		words = at + "; " + words
	}
	sub := sans(11.5, softInk)
	sub.Y = paper.End
	if room := c.Max.X - c.Min.X; sub.Width(words) > room {
		for sub.Width(words+" …") > room {
			words = words[:max(strings.LastIndexByte(words, ' '), 0)]
		}
		words += " …"
	}
	c.Write(sub, paper.Point{X: c.Min.X, Y: c.Max.Y - 23}, words)
	return c.Max.Y - 44
}

// place is where a value lies on its axis: durations in the axis's unit, words by their number.
func place(a *sweep.Axis, l sweep.Level) float64 {
	switch a.Unit() {
	case sweep.Durations:
		return float64(l.N) / scale(a)
	case sweep.Words:
		for i := range a.Levels {
			if a.Levels[i] == l {
				return float64(i)
			}
		}
	}
	return float64(l.N)
}

// scale is how many nanoseconds one of the axis is.
func scale(a *sweep.Axis) float64 {
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

// axisLabel names the axis and its unit.
func axisLabel(a *sweep.Axis, title string, short bool) string {
	text := a.Name
	if title != a.Name && !short {
		text = title + " (" + a.Name + ")"
	}
	switch {
	case a.Unit() == sweep.Rates && !strings.HasSuffix(a.Name, "ppm"):
		text += ", ppm"
	case a.Unit() == sweep.Durations && scale(a) == 1e9:
		text += ", seconds"
	case a.Unit() == sweep.Durations && scale(a) == 1e6:
		text += ", milliseconds"
	case a.Unit() == sweep.Durations:
		text += ", microseconds"
	}
	return text
}

// ordered reports whether there is something between the levels.
func ordered(a *sweep.Axis) bool { return a.Ordered() && len(a.Levels) > 1 }

// set gives a plot's axis the values of the ith of the sweep.
func (m *Map) set(i int, to *axis) {
	a, f := &m.Axes[i], m.frame
	to.label = axisLabel(a, m.Title(i), f.narrow)
	if ordered(a) {
		to.min, to.max = place(a, a.Levels[0]), place(a, a.Levels[len(a.Levels)-1])
		to.ticks = roundTicks(to.min, to.max, f.narrow)
		return
	}
	var ticks []mark
	for i, l := range a.Levels {
		ticks = append(ticks, mark{value: float64(i), label: l.Text})
	}
	to.ticks = ticks
	to.min, to.max = -0.5, float64(len(a.Levels))-0.5
	to.padding = 0
}

// roundTicks are some eight round numbers from lo to hi, or half as many.
func roundTicks(lo, hi float64, few bool) (ticks []mark) {
	most := 9.0
	if few {
		most = 5
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/most)))
	for _, times := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(step*times) <= most {
			step *= times
			break
		}
	}
	for n := math.Ceil(lo/step-1e-9) + 0; n*step <= hi+float64(step*1e-9); n++ { // + 0 makes zero of minus zero
		ticks = append(ticks, mark{value: n * step, label: strconv.FormatFloat(n*step, 'g', 6, 64)})
	}
	return ticks
}

// spot is where the ith level of a is drawn.
func spot(a *sweep.Axis, i int) float64 {
	if ordered(a) {
		return place(a, a.Levels[i])
	}
	return float64(i)
}

// shape draws the sign of a cell: every state has a shape of its own.
func (c *Cell) shape(to paper.Canvas, at paper.Point, r float64) {
	dot := func(x, y float64) paper.Point { return paper.Point{X: at.X + float64(x*r), Y: at.Y + float64(y*r)} }
	switch c.sign() {
	case "✓":
		to.Disc(safeInk, at, r)
	case "✗":
		stroke := paper.Stroke{Ink: badInk, Width: r * 0.55}
		to.Line(stroke, dot(-.9, -.9), dot(.9, .9))
		to.Line(stroke, dot(-.9, .9), dot(.9, -.9))
	case "±":
		to.Polygon(badInk, []paper.Point{dot(0, 1.15), dot(1.1, -.85), dot(-1.1, -.85)})
	case "?":
		to.Ring(paper.Stroke{Ink: openInk, Width: r * 0.4}, at, .85*r)
	default:
		to.Line(paper.Stroke{Ink: openInk, Width: r * 0.55}, dot(-.8, 0), dot(.8, 0))
	}
}

// field is the colour of the ground on which a state stands, ink that of its name.
func field(s sweep.State) color.NRGBA {
	return [...]color.NRGBA{openField, safeField, chanceField, badField, plotGround}[s]
}

func ink(s sweep.State) color.NRGBA {
	return [...]color.NRGBA{openInk, safeInk, chanceInk, badInk, openInk}[s]
}
