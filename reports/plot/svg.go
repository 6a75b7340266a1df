package plot

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// fonts lists the fonts that a viewer should use for the text, in order of preference.
const fonts = "'Liberation Sans',Arial,Helvetica,sans-serif"

// svg is a canvas that writes SVG.
type svg struct {
	strings.Builder
	onPage bool
}

// SVG draws the diagram at the given size in points.
func (d *Diagram) SVG(width, height float64) string { return d.svg(width, height, false) }

// OnPage is like SVG, but draws the diagram for an HTML page. The page's style sheet must define a variable --plot-NAME
// for each ink.
func (d *Diagram) OnPage(width, height float64) string { return d.svg(width, height, true) }

func (d *Diagram) svg(width, height float64, onPage bool) string {
	to := &svg{onPage: onPage}
	fmt.Fprintf(to, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]spt" height="%[2]spt" `+
		`viewBox="0 0 %[1]s %[2]s" font-family="%[3]s" role="img" aria-label="%[4]s">`+"\n",
		number(width), number(height), fonts, html.EscapeString(d.Description))
	d.draw(to, box{0, 0, width, height})
	to.WriteString("</svg>\n")
	return to.String()
}

// number formats a length with at most two decimals, because viewers do not show more.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(float64(v*100))/100+0, 'f', -1, 64)
}

func (to *svg) ink(i Ink) string {
	if to.onPage {
		return "var(--plot-" + i.Name + ")"
	}
	return fmt.Sprintf("#%02x%02x%02x", i.RGB.R, i.RGB.G, i.RGB.B)
}

func (to *svg) stroke(s Style) string {
	dashes := ""
	if s.Dashed {
		dashes = fmt.Sprintf(` stroke-dasharray="%d %d"`, dash, gap)
	}
	return fmt.Sprintf(`stroke="%s" stroke-width="%s"`, to.ink(s.Ink), number(s.Width)) + dashes
}

func places(points []Point) string {
	var all []string
	for _, p := range points {
		all = append(all, number(p.X)+","+number(p.Y))
	}
	return strings.Join(all, " ")
}

func (to *svg) polygon(i Ink, points ...Point) {
	fmt.Fprintf(to, `<polygon points="%s" fill="%s"/>`+"\n", places(points), to.ink(i))
}

func (to *svg) line(s Style, points ...Point) {
	fmt.Fprintf(to, `<polyline points="%s" fill="none" %s/>`+"\n", places(points), to.stroke(s))
}

func (to *svg) circle(s Style, at Point, r float64) {
	how := fmt.Sprintf(`fill="%s"`, to.ink(s.Ink))
	if s.Width > 0 {
		how = `fill="none" ` + to.stroke(s)
	}
	fmt.Fprintf(to, `<circle cx="%s" cy="%s" r="%s" %s/>`+"\n", number(at.X), number(at.Y), number(r), how)
}

// write adds words to the picture. It also specifies their width, so that they fit even if the viewer uses another
// font.
func (to *svg) write(t text, at Point, words string) {
	x, y := number(at.X), number(at.Y)
	how := map[float64]string{0.5: ` text-anchor="middle"`, 1: ` text-anchor="end"`}[t.anchor]
	if t.bold {
		how += ` font-weight="bold"`
	}
	if t.turned {
		how += fmt.Sprintf(` transform="rotate(-90 %s %s)"`, x, y)
	}
	how += fmt.Sprintf(` textLength="%s" lengthAdjust="spacingAndGlyphs"`, number(t.width(words)))
	fmt.Fprintf(to, `<text x="%s" y="%s" font-size="%s" fill="%s"%s>%s</text>`+"\n", x, y, number(t.size),
		to.ink(t.Ink), how, html.EscapeString(words))
}
