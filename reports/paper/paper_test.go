package paper

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	stdpng "image/png"
	"io"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

var (
	white = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	red   = color.NRGBA{0xff, 0, 0, 0xff}
	blue  = color.NRGBA{0, 0, 0xff, 0xff}
)

// sample has one of everything.
func sample() Canvas {
	c := New(100, 100)
	c.Polygon(red, []Point{{10, 10}, {30, 10}, {30, 30}, {10, 30}})
	c.Line(Stroke{Ink: blue, Width: 4}, Point{10, 50}, Point{50, 50}, Point{50, 90})
	c.Line(Stroke{Ink: red, Width: 2, Dashes: []float64{5, 5}}, Point{10, 70}, Point{40, 70})
	c.Disc(blue, Point{70, 20}, 10)
	c.Ring(Stroke{Ink: red, Width: 4}, Point{70, 50}, 10)
	c.Write(Text{Ink: blue, Size: 20, Bold: true, X: Center, Y: Center}, Point{75, 80}, "II")
	c.Write(Text{Ink: red, Size: 10, X: End, Turned: true}, Point{95, 40}, "a<b & \"c\"")
	return c
}

// The picture is the same text everywhere: this one was read by eye.
func TestSVG(t *testing.T) {
	got := sample().SVG()
	testkit.Golden(t, "testdata/sample.svg", got)
	for d := xml.NewDecoder(bytes.NewReader([]byte(got))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// Pixels inside and outside of each shape. The picture is ten pixels to a point, and counts them from the top.
func TestPNG(t *testing.T) {
	var b bytes.Buffer
	if err := sample().PNG(&b, white, 10*Inch); err != nil {
		t.Fatal(err)
	}
	picture, err := stdpng.Decode(&b)
	if err != nil || picture.Bounds() != image.Rect(0, 0, 1000, 1000) {
		t.Fatalf("%v, %v", picture.Bounds(), err)
	}
	for _, p := range []struct {
		x, y float64
		ink  color.NRGBA
	}{
		{20, 20, red}, {29.9, 29.9, red}, {30.1, 20, white}, {9.9, 20, white}, // the square
		{30, 51.9, blue}, {30, 52.1, white}, {51.9, 70, blue}, {47.9, 70, white}, // the line
		{12, 70, red}, {17, 70, white}, {22, 70, red}, {22, 71.2, white}, // the dashes
		{70, 20, blue}, {76.9, 26.9, blue}, {77.2, 27.2, white}, {60.2, 20, blue}, {59.8, 20, white}, // the disc
		{70, 50, white}, {81.8, 50, red}, {82.2, 50, white}, {78.2, 50, red}, {77.8, 50, white}, // the ring
		{75, 80, white}, {72.2, 80, blue}, {77.8, 80, blue}, {75, 89, white}, // two bars, around their middle
	} {
		if got := color.NRGBAModel.Convert(picture.At(int(p.x*10), 999-int(p.y*10))); got != p.ink {
			t.Errorf("at %v, %v is %v, not %v", p.x, p.y, got, p.ink)
		}
	}
}

// The widths are those of Arial, for which Liberation Sans was made: of a thousandth of the size, from Adobe's metrics
// of
// Helvetica.
func TestWidths(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "a": 556, "i": 222, "W": 944, "iW": 222 + 944,
		"10 s": 556*2 + 278 + 500} {
		if got := (Text{Size: 1000}).Width(text); got < want-1 || got > want+1 {
			t.Errorf("%q is %v wide, not %v", text, got, want)
		}
	}
	if plain, bold := (Text{Size: 10}).Width("lease"), (Text{Size: 10, Bold: true}).Width("lease"); bold <= plain {
		t.Errorf("bold is %v wide, plain %v", bold, plain)
	}
}
