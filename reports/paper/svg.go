package paper

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"
)

// fonts are those in which a viewer shows the text: where the first is missing, others of the same widths take its
// place.
const fonts = "'Liberation Sans',Arial,Helvetica,sans-serif"

type svg struct {
	height float64
	b      strings.Builder
}

// SVG gives what was drawn as an SVG element.
func (c Canvas) SVG() string {
	to := &svg{height: c.sheet.height}
	size := number(c.sheet.width) + " " + number(c.sheet.height)
	fmt.Fprintf(
		&to.b,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%spt" height="%spt" viewBox="0 0 %s" font-family="%s">`+"\n",
		number(c.sheet.width),
		number(c.sheet.height),
		size,
		fonts,
	)
	for _, s := range c.sheet.shapes {
		s.svg(to)
	}
	to.b.WriteString("</svg>\n")
	return to.b.String()
}

// number writes a length with two decimals at most: no viewer shows more.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(float64(v*100))/100+0, 'f', -1, 64)
}

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// place writes a point, counted from the top.
func (to *svg) place(p Point) string { return number(p.X) + "," + number(to.height-p.Y) }

func (to *svg) places(points []Point) string {
	var all []string
	for _, p := range points {
		all = append(all, to.place(p))
	}
	return strings.Join(all, " ")
}

func (s *polygon) svg(to *svg) {
	fmt.Fprintf(&to.b, `<polygon points="%s" fill="%s"/>`+"\n", to.places(s.points), hex(s.ink))
}

// attributes are those of the stroke.
func (s *Stroke) attributes() string {
	text := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="%s"`, hex(s.Ink), number(s.Width))
	if len(s.Dashes) > 0 {
		var dashes []string
		for _, d := range s.Dashes {
			dashes = append(dashes, number(d))
		}
		text += fmt.Sprintf(` stroke-dasharray="%s"`, strings.Join(dashes, " "))
	}
	return text
}

func (s *polyline) svg(to *svg) {
	fmt.Fprintf(&to.b, `<polyline points="%s" %s/>`+"\n", to.places(s.points), s.attributes())
}

func (s *disc) svg(to *svg) {
	fmt.Fprintf(
		&to.b,
		`<circle cx="%s" cy="%s" r="%s" fill="%s"/>`+"\n",
		number(s.at.X),
		number(to.height-s.at.Y),
		number(s.r),
		hex(s.ink),
	)
}

func (s *ring) svg(to *svg) {
	fmt.Fprintf(
		&to.b,
		`<circle cx="%s" cy="%s" r="%s" %s/>`+"\n",
		number(s.at.X),
		number(to.height-s.at.Y),
		number(s.r),
		s.attributes(),
	)
}

func (w *words) svg(to *svg) {
	base := w.base(false)
	x, y := number(base.X), number(to.height-base.Y)
	more := [...]string{"", ` text-anchor="middle"`,
		` text-anchor="end"`}[w.X] // also where another font is a little wider
	if w.Bold {
		more += ` font-weight="bold"`
	}
	if w.Turned {
		more += fmt.Sprintf(` transform="rotate(-90 %s %s)"`, x, y)
	}
	var text bytes.Buffer
	if err := xml.EscapeText(&text, []byte(w.text)); err != nil {
		panic(err) // a Buffer takes all
	}
	fmt.Fprintf(
		&to.b,
		`<text x="%s" y="%s" font-size="%s" fill="%s"%s>%s</text>`+"\n",
		x,
		y,
		number(w.Size),
		hex(w.Ink),
		more,
		text.Bytes(),
	)
}
