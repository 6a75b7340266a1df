package browser

import (
	"fmt"
	"image"
	"math"
	"testing"
)

// rgb is a color in sRGB. Each component is between 0 and 1.
type rgb [3]float64

// parseColor parses a color as browsers report computed colors. ok is false if the color is not opaque.
func parseColor(s string) (c rgb, ok bool) {
	n, err := fmt.Sscanf(s, "rgb(%f, %f, %f)", &c[0], &c[1], &c[2])
	for i := range c {
		c[i] /= 255
	}
	return c, n == 3 && err == nil
}

func pixel(m image.Image, x, y int) rgb {
	r, g, b, _ := m.At(x, y).RGBA()
	return rgb{float64(r) / 0xffff, float64(g) / 0xffff, float64(b) / 0xffff}
}

func distance(a, b rgb) float64 {
	return math.Abs(a[0]-b[0]) + math.Abs(a[1]-b[1]) + math.Abs(a[2]-b[2])
}

// contrast returns the WCAG 2.2 contrast ratio: from 1 for equal colors to 21 for black on white.
func contrast(a, b rgb) float64 {
	la, lb := a.luminance(), b.luminance()
	return (math.Max(la, lb) + 0.05) / (math.Min(la, lb) + 0.05)
}

func (c rgb) luminance() float64 {
	part := func(x float64) float64 {
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*part(c[0]) + 0.7152*part(c[1]) + 0.0722*part(c[2])
}

func TestContrastIsThatOfTheGuideline(t *testing.T) {
	for _, c := range []struct {
		ink, ground string
		want        float64
	}{
		{"rgb(0, 0, 0)", "rgb(255, 255, 255)", 21},
		{"rgb(255, 255, 255)", "rgb(255, 255, 255)", 1},
		{"rgb(118, 118, 118)", "rgb(255, 255, 255)", 4.54},
	} {
		ink, _ := parseColor(c.ink)
		ground, _ := parseColor(c.ground)
		if got := contrast(ink, ground); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%s on %s: %.3f, want %.2f", c.ink, c.ground, got, c.want)
		}
	}
}
