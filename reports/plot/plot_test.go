package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	stdpng "image/png"
	"io"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

var (
	red  = Ink{"red", color.NRGBA{0xff, 0, 0, 0xff}}
	blue = Ink{"blue", color.NRGBA{0, 0, 0xff, 0xff}}
)

// sample returns a diagram with every kind of element, and with two lines that have the same name.
func sample() *Diagram {
	d := &Diagram{Title: "Title", Subtitle: "one two " + strings.Repeat("more ", 80), Description: `what is "it"`,
		X: Axis{Label: "across, seconds", Max: 12}, Y: Words("up", []string{"never", "a<b & c"}), Columns: 5, Rows: 2,
		Areas: []Area{{Ink: blue, Points: []Point{{0, -.5}, {6, -.5}, {6, 1.5}, {0, 1.5}}, Name: "wide", Text: red},
			{Ink: red, Points: []Point{{6, -.5}, {6.5, -.5}, {6.5, 1.5}, {6, 1.5}}, Name: "narrow", Text: blue}},
		Lines: []Line{
			{Style: Style{Ink: Black, Width: 2}, Points: []Point{{6, -.5}, {6, 1.5}}, Name: "edge", Value: "6s"},
			{Style: Style{Ink: Black, Width: 2}, Points: []Point{{6.5, -.5}, {6.5, 1.5}}, Name: "edge", Value: "6.5s"},
			{Style: Style{Ink: red, Width: 2, Dashed: true}, Points: []Point{{12, -.5}, {12, 1.5}}, Name: "claim",
				Value: "12s", Low: true}}}
	for shape := range Dash + 1 {
		d.Marks = append(d.Marks, Mark{Shape: shape, Ink: red, At: Point{float64(shape) * 3, 1}, Name: "mark"})
	}
	return d
}

// The SVG is the same on every platform. The golden file was checked by eye.
func TestSVG(t *testing.T) {
	got := sample().SVG(400, 300)
	testkit.Golden(t, "testdata/sample.svg", got)
	for d := xml.NewDecoder(strings.NewReader(got)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// On a page, colors are not fixed. Apart from the colors, the picture is the same.
func TestOnPage(t *testing.T) {
	page := sample().OnPage(400, 300)
	if strings.Contains(page, `="#`) {
		t.Error("a colour is a constant")
	}
	for _, i := range []Ink{red, blue, Black, Soft, Ground} {
		constant := &svg{}
		page = strings.ReplaceAll(page, "var(--plot-"+i.Name+")", constant.ink(i))
	}
	if page != sample().SVG(400, 300) {
		t.Error("more than the colours differs")
	}
}

// A PNG has the expected pixels inside and outside each shape.
func TestPNG(t *testing.T) {
	var b, again bytes.Buffer
	if err := errors.Join(sample().PNG(&b, 400, 300, 144), sample().PNG(&again, 400, 300, 144)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("drawn twice, the pictures differ")
	}
	drawn, err := stdpng.Decode(&b)
	if err != nil || drawn.Bounds() != image.Rect(0, 0, 800, 600) {
		t.Fatalf("%v, %v", drawn.Bounds(), err)
	}
	to := raster{image.NewRGBA(image.Rect(0, 0, 1000, 1000)), 10}
	to.polygon(Ground, Point{0, 0}, Point{100, 0}, Point{100, 100}, Point{0, 100})
	to.polygon(red, Point{10, 10}, Point{30, 10}, Point{30, 30}, Point{10, 30})
	to.line(Style{Ink: blue, Width: 4}, Point{10, 50}, Point{50, 50}, Point{50, 90})
	to.line(Style{Ink: red, Width: 2, Dashed: true}, Point{10, 70}, Point{40, 70})
	to.circle(Style{Ink: blue}, Point{70, 20}, 10)
	to.circle(Style{Ink: red, Width: 4}, Point{70, 50}, 10)
	to.write(text{Ink: blue, size: 20, bold: true, anchor: .5}, Point{75, 87.2}, "II")
	to.write(text{Ink: red, size: 20, bold: true, anchor: .5, turned: true}, Point{97, 80}, "II")
	for _, p := range []struct {
		x, y float64
		ink  Ink
	}{
		{20, 20, red}, {29.9, 29.9, red}, {30.1, 20, Ground}, {9.9, 20, Ground}, // the square
		{30, 51.9, blue}, {30, 52.1, Ground}, {51.9, 70, blue}, {47.9, 70, Ground}, // the line
		{12, 70, red}, {16, 70, Ground}, {20, 70, red}, {20, 71.2, Ground}, // the dashes
		{70, 20, blue}, {76.9, 26.9, blue}, {77.2, 27.2, Ground}, {60.2, 20, blue}, {59.8, 20, Ground}, // the disc
		{70, 50, Ground}, {81.8, 50, red}, {82.2, 50, Ground}, {78.2, 50, red}, {77.8, 50, Ground}, // the ring
		{75, 80, Ground}, {72.2, 80, blue}, {77.8, 80, blue}, {75, 89, Ground}, // two bars, around their center
		{90, 80, Ground}, {90, 77.2, red}, {90, 82.8, red}, {99, 77.2, Ground}, // the same, turned
	} {
		if got := color.NRGBAModel.Convert(to.At(int(p.x*10), int(p.y*10))); got != p.ink.RGB {
			t.Errorf("at %v, %v is %v, not %v", p.x, p.y, got, p.ink.Name)
		}
	}
}

// The widths agree with Arial's, which Liberation Sans was designed to replace. The expected widths come from Adobe's
// metrics for Helvetica, in thousandths of the font size.
func TestWidths(t *testing.T) {
	for words, want := range map[string]float64{"": 0, "a": 556, "i": 222, "W": 944, "iW": 222 + 944,
		"10 s": 556*2 + 278 + 500} {
		if got := (&text{size: 1000}).width(words); got < want-1 || got > want+1 {
			t.Errorf("%q is %v wide, not %v", words, got, want)
		}
	}
	if plain, bold := (&text{size: 10}).width("lease"), (&text{size: 10, bold: true}).width("lease"); bold <= plain {
		t.Errorf("bold is %v wide, plain %v", bold, plain)
	}
}

// Ticks are round numbers, and none lies outside the axis. There are at least a few, even if there is little room.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi, length, room float64
		want                 string
	}{{0, 12, 640, 45, "0 2 4 6 8 10 12"}, {0, 12, 240, 45, "0 5 10"}, {-3, 3, 640, 45, "-3 -2 -1 0 1 2 3"},
		{2, 12, 230, 24, "2 4 6 8 10 12"}, {.1, .5, 60, 45, "0.2 0.4"},
		{9877, 9896, 640, 45, "9880 9885 9890 9895"}} {
		var labels []string
		for _, tick := range (&Axis{Min: c.lo, Max: c.hi}).ticks(c.length, c.room) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("from %v to %v on %v points: %s, not %s", c.lo, c.hi, c.length, got, c.want)
		}
	}
}
