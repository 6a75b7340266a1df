package reports

import (
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/paper"
	"github.com/fencepost-sim/fencepost/reports/phrase"
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
	safeInk    = color.NRGBA{0x00, 0x4e, 0x7d, 0xff}
	safeField  = color.NRGBA{0xcf, 0xe4, 0xf3, 0xff}
	badInk     = color.NRGBA{0xa0, 0x3f, 0x00, 0xff}
	badField   = color.NRGBA{0xfb, 0xdc, 0xc4, 0xff}
	openInk    = color.NRGBA{0x60, 0x60, 0x60, 0xff}
	openField  = color.NRGBA{0xea, 0xea, 0xea, 0xff}
	edgeInk    = color.NRGBA{0x14, 0x14, 0x14, 0xff}
	claimInk   = color.NRGBA{0x7b, 0x2d, 0x8b, 0xff}
	softInk    = color.NRGBA{0x55, 0x5a, 0x62, 0xff}
	plotGround = color.NRGBA{0xff, 0xff, 0xff, 0xff}
)

// SweepSVG draws the map of one law as SVG.
func SweepSVG(w io.Writer, s *Sweep, l *SweepLaw) error {
	_, err := io.WriteString(w, sweepSVG(s, l, stage))
	return err
}

func sweepSVG(s *Sweep, l *SweepLaw, f frame) string {
	c := paper.New(f.width, f.height)
	drawSweep(c, &sweepMap{s, l, f})
	return c.SVG()
}

// SweepPNG draws the map of one law as PNG.
func SweepPNG(w io.Writer, s *Sweep, l *SweepLaw) error {
	c := paper.New(stage.width, stage.height)
	drawSweep(c, &sweepMap{s, l, stage})
	return c.PNG(w, plotGround, plotDPI)
}

// drawSweep draws heading, legend and map.
func drawSweep(c paper.Canvas, m *sweepMap) {
	c = c.Crop(14, -18, 10, -12)
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
}

// sans is text of a size.
func sans(size float64, ink color.NRGBA) paper.Text { return paper.Text{Ink: ink, Size: size} }

func newPlot() *plot { return &plot{X: axis{padding: 8}, Y: axis{padding: 8}} }

// heading writes what is shown; it returns how far down it reaches.
func (m *sweepMap) heading(c paper.Canvas) float64 {
	title := sans(17, edgeInk)
	title.Bold = true
	title.Y = paper.End
	c.Write(title, paper.Point{X: c.Min.X, Y: c.Max.Y}, m.Scenario+": "+string(m.law.Law))
	words := strings.Join(append([]string{phrase.Count(m.Seeds, "run") + " at each point"}, m.Fixed...), "; ")
	if len(m.Axes) == 1 && len(m.law.Lines) == 1 {
		words = m.law.Lines[0].words(m.Axes[0].Name) + m.anchor() + " – " + words
	} else if m.At != "" {
		words = m.At + "; " + words
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
func (a *SweepAxis) place(l SweepLevel) float64 {
	switch a.Unit {
	case SweepDurations:
		return float64(l.N) / a.scale()
	case SweepWords:
		for i := range a.Levels {
			if a.Levels[i] == l {
				return float64(i)
			}
		}
	}
	return float64(l.N)
}

// scale is how many nanoseconds one of the axis is.
func (a *SweepAxis) scale() float64 {
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

// label names the axis and its unit.
func (a *SweepAxis) label(short bool) string {
	text := a.Name
	if a.Title != a.Name && !short {
		text = a.Title + " (" + a.Name + ")"
	}
	switch {
	case a.Unit == SweepRates && !strings.HasSuffix(a.Name, "ppm"):
		text += ", ppm"
	case a.Unit == SweepDurations && a.scale() == 1e9:
		text += ", seconds"
	case a.Unit == SweepDurations && a.scale() == 1e6:
		text += ", milliseconds"
	case a.Unit == SweepDurations:
		text += ", microseconds"
	}
	return text
}

// ordered reports whether there is something between the levels.
func (a *SweepAxis) ordered() bool {
	if a.Unit == SweepWords || len(a.Levels) < 2 {
		return false
	}
	for i := 1; i < len(a.Levels); i++ {
		if a.Levels[i].N <= a.Levels[i-1].N {
			return false
		}
	}
	return true
}

// set gives a plot's axis the values of a.
func (a *SweepAxis) set(to *axis, f frame) {
	to.label = a.label(f.narrow)
	if a.ordered() {
		to.min, to.max = a.place(a.Levels[0]), a.place(a.Levels[len(a.Levels)-1])
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
func (a *SweepAxis) spot(i int) float64 {
	if a.ordered() {
		return a.place(a.Levels[i])
	}
	return float64(i)
}

// shape draws the sign of a cell: every state has a shape of its own.
func (c *SweepCell) shape(to paper.Canvas, at paper.Point, r float64) {
	dot := func(x, y float64) paper.Point { return paper.Point{X: at.X + float64(x*r), Y: at.Y + float64(y*r)} }
	mark, _ := c.mark()
	switch mark {
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
func (s SweepState) field() color.NRGBA {
	return [...]color.NRGBA{openField, safeField, badField, plotGround}[s]
}

func (s SweepState) ink() color.NRGBA {
	return [...]color.NRGBA{openInk, safeInk, badInk, openInk}[s]
}
