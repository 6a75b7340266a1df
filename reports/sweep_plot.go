package reports

import (
	"bytes"
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// frame is the paper of a picture.
type frame struct {
	width, height vg.Length
	bare          bool // without heading: it stands on a page that says the same
	narrow        bool // for a phone: with fewer words and numbers
}

var (
	stage     = frame{width: 10 * vg.Inch, height: 5.625 * vg.Inch}
	onDesktop = frame{width: 10 * vg.Inch, height: 4.9 * vg.Inch, bare: true}
	onPhone   = frame{width: 4.4 * vg.Inch, height: 4.4 * vg.Inch, bare: true, narrow: true}
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
	plotGround = color.White
)

// SweepSVG draws the map of one law as SVG.
func SweepSVG(w io.Writer, s *Sweep, l *SweepLaw) error {
	text, err := sweepSVG(s, l, stage)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

func sweepSVG(s *Sweep, l *SweepLaw, f frame) (string, error) {
	c := vgsvg.New(f.width, f.height)
	drawSweep(draw.New(c), &sweepMap{s, l, f})
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	// Where the font is missing, others of the same widths take its place.
	return strings.ReplaceAll(b.String(), "font-family:Liberation Sans;", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"), nil
}

// SweepPNG draws the map of one law as PNG.
func SweepPNG(w io.Writer, s *Sweep, l *SweepLaw) error {
	c := vgimg.NewWith(vgimg.UseWH(stage.width, stage.height), vgimg.UseDPI(plotDPI), vgimg.UseBackgroundColor(plotGround))
	drawSweep(draw.New(c), &sweepMap{s, l, stage})
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// drawSweep draws heading, legend and map.
func drawSweep(c draw.Canvas, m *sweepMap) {
	c = draw.Crop(c, 14, -18, 10, -12)
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
	p.Draw(draw.Crop(c, 0, 0, 0, top-c.Max.Y-6))
}

// sans is text of a size.
func sans(size vg.Length, ink color.Color) draw.TextStyle {
	return draw.TextStyle{Color: ink, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, Handler: plot.DefaultTextHandler}
}

func newPlot() *plot.Plot {
	p := plot.New()
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = sans(12, edgeInk).Font
		a.Label.Padding = 4
		a.Tick.Label.Font = sans(11, edgeInk).Font
		a.LineStyle.Width = 0
		a.Padding = 8
		a.Tick.LineStyle.Color = softInk
	}
	return p
}

// heading writes what is shown; it returns how far down it reaches.
func (m *sweepMap) heading(c draw.Canvas) vg.Length {
	title := sans(17, edgeInk)
	title.Font.Weight = xfont.WeightBold
	title.YAlign = draw.YTop
	c.FillText(title, vg.Point{X: c.Min.X, Y: c.Max.Y}, m.Scenario+": "+string(m.law.Law))
	words := strings.Join(append([]string{count(m.Seeds, "run") + " at each point"}, m.Fixed...), "; ")
	if len(m.Axes) == 1 && len(m.law.Lines) == 1 {
		words = m.law.Lines[0].words(m.Axes[0].Name) + m.anchor() + " – " + words
	} else if m.At != "" {
		words = m.At + "; " + words
	}
	sub := sans(11.5, softInk)
	sub.YAlign = draw.YTop
	if room := c.Max.X - c.Min.X; sub.Width(words) > room {
		for sub.Width(words+" …") > room {
			words = words[:max(strings.LastIndexByte(words, ' '), 0)]
		}
		words += " …"
	}
	c.FillText(sub, vg.Point{X: c.Min.X, Y: c.Max.Y - 23}, words)
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
func (a *SweepAxis) set(to *plot.Axis, f frame) {
	to.Label.Text = a.label(f.narrow)
	if a.ordered() {
		to.Min, to.Max = a.place(a.Levels[0]), a.place(a.Levels[len(a.Levels)-1])
		to.Tick.Marker = plot.ConstantTicks(roundTicks(to.Min, to.Max, f.narrow))
		return
	}
	var ticks plot.ConstantTicks
	for i, l := range a.Levels {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: l.Text})
	}
	to.Tick.Marker = ticks
	to.Min, to.Max = -0.5, float64(len(a.Levels))-0.5
	to.Padding = 0
}

// roundTicks are some eight round numbers from lo to hi, or half as many.
func roundTicks(lo, hi float64, few bool) (ticks []plot.Tick) {
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
		ticks = append(ticks, plot.Tick{Value: n * step, Label: strconv.FormatFloat(n*step, 'g', 6, 64)})
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
func (c *SweepCell) shape(to draw.Canvas, at vg.Point, r vg.Length) {
	stroke := func(ink color.Color, lines ...[]vg.Point) {
		to.StrokeLines(draw.LineStyle{Color: ink, Width: r * 0.55}, lines...)
	}
	dot := func(x, y vg.Length) vg.Point { return vg.Point{X: at.X + vg.Length(x*r), Y: at.Y + vg.Length(y*r)} }
	mark, _ := c.mark()
	switch mark {
	case "✓":
		var path vg.Path
		path.Move(dot(1, 0))
		path.Arc(at, r, 0, 2*math.Pi)
		path.Close()
		to.SetColor(safeInk)
		to.Fill(path)
	case "✗":
		stroke(badInk, []vg.Point{dot(-.9, -.9), dot(.9, .9)}, []vg.Point{dot(-.9, .9), dot(.9, -.9)})
	case "±":
		to.FillPolygon(badInk, []vg.Point{dot(0, 1.15), dot(1.1, -.85), dot(-1.1, -.85)})
	case "?":
		var path vg.Path
		path.Move(dot(.85, 0))
		path.Arc(at, .85*r, 0, 2*math.Pi)
		to.SetLineStyle(draw.LineStyle{Color: openInk, Width: r * 0.4})
		to.Stroke(path)
	default:
		stroke(openInk, []vg.Point{dot(-.8, 0), dot(.8, 0)})
	}
}

// field is the colour of the ground on which a state stands, ink that of its name.
func (s SweepState) field() color.Color {
	return [...]color.Color{openField, safeField, badField, plotGround}[s]
}

func (s SweepState) ink() color.Color {
	return [...]color.Color{openInk, safeInk, badInk, openInk}[s]
}
