package timeline

import (
	_ "embed" // for the script of the picture
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/html"
)

// Script is the JavaScript function that makes the picture interactive. A page that shows several pictures in turn
// calls the function itself.
//
//go:embed chart.js
var Script string

// script is the JavaScript that lets users zoom and pan on a page with one picture.
var script = Script + "timeline();\n"

// The buttons above the picture. witnessButton exists only if there is a witness.
const (
	hints = `<span class="hint">true time; drag to move<span class="with-keys">, or use <kbd>←</kbd> <kbd>→</kbd>; ` +
		`zoom with <kbd>+</kbd> <kbd>−</kbd>, or Ctrl and the wheel</span></span>`
	buttons = `<button type="button" data-do="in" aria-label="zoom in">+</button>` +
		`<button type="button" data-do="out" aria-label="zoom out">−</button>` +
		`<button type="button" data-do="fit">whole run</button>`
	witnessButton = `<button type="button" data-do="witness">witness</button>`
)

// patterns are the SVG patterns that fill shapes.
const patterns = `<pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
	`<rect class="hatch" width="3" height="7"></rect></pattern>` + "\n" +
	`<pattern id="dead" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">` +
	`<rect class="dead" width="1.6" height="5"></rect></pattern>` + "\n"

// glyphs maps each mark's name to its SVG.
var glyphs = map[string]html.Part{
	"dot":   html.Raw(`<circle class="dot" r="4.5"></circle>`),
	"cross": html.Raw(`<path class="x" d="M-4.5 -4.5 L4.5 4.5 M4.5 -4.5 L-4.5 4.5"></path>`),
	"jump":  html.Raw(`<path class="jump" d="M0 -7 L5 2 L-5 2 Z"></path>`),
}

// card returns the picture with its buttons and its legend, for a page with a script that includes Script.
func (c *chart) card() html.Part {
	return html.El("section", html.Class("card"), html.Newline,
		html.El("div", html.Class("bar"), html.El("h2", html.Text("Timeline")), html.Raw(hints),
			html.El("span", html.Class("buttons"), html.Raw(buttons), html.If(len(c.Pins) > 0, html.Raw(witnessButton)),
				html.El("button", html.Attr("type", "button", "data-do", "true", "aria-pressed", c.Linear,
					"title", "one second has the same width everywhere"), html.Text("true scale")))), html.Newline,
		html.El("div", html.Attr("class", "plot", "tabindex", 0, "role", "group",
			"aria-label", "timeline: plus and minus zoom, the arrows move, 0 shows the whole run"), c.svg()),
		html.Newline,
		html.Each(c.Notes, func(note string) html.Part { return html.El("p", html.Class("note"), html.Text(note)) }),
		html.Newline,
		html.El("ul", html.Class("legend"), html.Newline, c.legend()), html.Newline)
}

// svg returns the picture as an SVG element.
func (c *chart) svg() html.Part {
	return html.El("svg", html.Attr("id", "chart", "width", c.Width, "height", c.Height, "data-left", c.Left,
		"data-right", c.Right, "data-knots", c.knots(), "data-linear", c.Linear), html.Newline,
		html.El("defs", html.Newline,
			html.El("clipPath", html.Attr("id", "inside"), html.El("rect", html.Attr("id", "clip",
				"x", c.Left-clipMargin, "y", 0, "width", c.Right-c.Left+2*clipMargin, "height", c.Height))),
			html.Newline, html.Raw(patterns)), html.Newline,
		html.Each(c.Rows, c.row),
		html.El("g", html.Attr("clip-path", "url(#inside)"), html.Newline,
			html.Raw(`<line class="axis" x1="0" x2="4000" y1="36" y2="36"></line>`), html.Newline,
			html.Each(c.Breaks, scaleBreak.part), html.Each(c.Ticks, c.tick), html.Each(c.Shapes, shape.part),
			html.Each(c.Pins, pin.part)), html.Newline)
}

// knots returns pairs, as JSON, of a true time in ns and its horizontal position from 0 to 1. The page's script
// interpolates between them.
func (c *chart) knots() string {
	var all []string
	for _, k := range c.folded.knots {
		all = append(all, fmt.Sprintf("[%d,%s]", k.at, strconv.FormatFloat(k.place, 'f', -1, 64)))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// offIf adds the class "off" to a class list if hidden is true. Elements with this class are hidden when the page is
// first shown.
func offIf(class string, hidden bool) string {
	if hidden {
		class += " off"
	}
	return class
}

func (c *chart) row(r laneTitle) html.Part {
	class := "row " + r.Class
	if r.Odd {
		class += " odd"
	}
	return html.All(html.El("g", html.Class(class),
		html.El("rect", html.Attr("class", "ground", "x", 0, "y", r.Y, "width", c.Width, "height", r.Height)),
		html.El("text", html.Attr("class", "name", "x", 12, "y", r.Middle, "dominant-baseline", "central"),
			html.Text(r.Name))), html.Newline)
}

func (b scaleBreak) part() html.Part {
	return html.All(html.El("g", html.Attr("class", offIf("break", !b.Shown), "data-a", b.A, "data-b", b.B,
		"transform", "translate("+b.X+",0)"), html.Raw(`<path d="M-8 36 l4 -5 l5 10 l5 -10 l4 5"></path>`),
		html.El("text", html.Attr("class", offIf("break-label", !b.Named), "y", 26, "text-anchor", "middle"),
			html.Text(b.Label))), html.Newline)
}

func (c *chart) tick(t tick) html.Part {
	return html.All(html.El("g", html.Attr("class", offIf("tick", !t.Shown), "data-a", t.A,
		"transform", "translate("+t.X+",0)"), html.El("line", html.Attr("y1", 36, "y2", c.Height)),
		html.El("text", html.Attr("x", t.Shift, "y", 13, "text-anchor", "middle"), html.Text(t.Label))), html.Newline)
}

func (s shape) part() html.Part {
	drawn := s.text
	switch s.Kind {
	case "box":
		drawn = s.box
	case "mark":
		drawn = s.mark
	case "ray":
		drawn = func() html.Part { return s.line("class", "ray "+s.Class) }
	case "message":
		drawn = s.message
	}
	return html.All(drawn(), html.Newline)
}

func (s shape) box() html.Part {
	return html.El("g", html.Attr("class", "box "+s.Class, "data-a", s.A, "data-b", s.B), s.events(),
		html.El("rect", html.Attr("x", s.X, "y", s.Y, "width", s.Width, "height", s.Height)),
		html.If(s.Label != "", html.El("text", html.Attr("class", offIf("inner", s.Tight), "x", s.X, "dx", 6,
			"y", px(float64(s.Y)+float64(float64(s.Height)/2)), "dominant-baseline", "central"), html.Text(s.Label))),
		s.tip())
}

func (s shape) mark() html.Part {
	place := html.Attr("x", s.Shift, "y", -10, "text-anchor", "middle")
	if s.Glyph == "jump" {
		place = html.Attr("x", 8, "dominant-baseline", "central")
	}
	return html.El("g", html.Attr("class", "mark "+s.Class, "data-a", s.A), s.events(),
		html.Attr("transform", fmt.Sprintf("translate(%s,%d)", s.X, s.Y), "data-y", s.Y),
		html.Raw(`<circle class="target" r="9"></circle>`), glyphs[s.Glyph],
		html.If(s.Label != "", html.El("text", html.Class(offIf("outer", s.Tight)), place, html.Text(s.Label))),
		s.tip())
}

// message draws a line and, on top of it, a wider invisible line that is easier to point at.
func (s shape) message() html.Part {
	return html.El("g", html.Attr("class", "message "+s.Class, "data-message", s.Number),
		s.line(), s.line("class", "target"), html.El("title", html.Text(s.Tip)))
}

// line draws a line between the shape's two ends. The given attributes precede the line's own.
func (s shape) line(attributes ...any) html.Part {
	return html.El("line", html.Attr(attributes...), html.Attr("data-a", s.A, "data-b", s.B,
		"x1", s.X, "y1", s.Y, "x2", s.Width, "y2", s.Y2))
}

// text draws a label that is not part of another shape.
func (s shape) text() html.Part {
	return html.El("text", html.Attr("class", "float "+s.Class, "data-a", s.A, "data-b", s.B, "x", s.X, "y", s.Y,
		"dominant-baseline", "central"), html.Text(s.Label))
}

// events links the shape to the witness list.
func (s shape) events() html.Part { return html.If(s.Events != "", html.Attr("data-ev", s.Events)) }

func (s shape) tip() html.Part { return html.If(s.Tip != "", html.El("title", html.Text(s.Tip))) }

func (p pin) part() html.Part {
	return html.All(html.El("g", html.Attr("class", "pin", "tabindex", 0, "role", "button", "data-a", p.A,
		"data-ev", p.Pos, "id", fmt.Sprint("event-", p.Pos), "transform", "translate("+p.X+",0)"),
		html.El("line", html.Attr("y1", p.Y, "y2", p.Y2)), html.El("circle", html.Attr("cy", p.Y, "r", 8.5)),
		html.El("text", html.Attr("y", p.Y, "text-anchor", "middle", "dominant-baseline", "central"),
			html.Text(strconv.Itoa(p.Number))),
		html.El("title", html.Text(p.Tip))), html.Newline)
}

// legends explains each class of shapes in words. swatch is the CSS class of the sample shown next to the words. sign
// is the sample's character, if it is one.
var legends = []struct{ class, swatch, sign, words string }{
	{"lease", "swatch lease", "", "lease, as the client sees it"},
	{"past", "swatch past", "", "section without a lease"},
	{"shared", "swatch shared", "", "shared section"},
	{"clash", "swatch clash", "", "two clients inside at once"},
	{"pause", "swatch pause", "", "paused"},
	{"wait", "swatch wait", "", "asking for the lock"},
	{"queued", "swatch wait", "", "keys that wait in line behind the key above"},
	{"c-none", "swatch c-none", "", "key of an unknown client"},
	{"down", "swatch down", "", "server down"},
	{"request", "swatch request", "", "request on its way to the resource"},
	{"reading", "glyph dot", "○", "read accepted"},
	{"writing", "glyph dot", "●", "write accepted"},
	{"refused", "glyph x", "✗", "refused"},
	{"crash", "glyph x", "✗", "crashed"},
	{"clock", "glyph jump", "▲", "clock jumps"},
	{"drift", "swatch drift", "", "clock drifts"},
}

// legend returns the legend. It explains only the shapes that are drawn.
func (c *chart) legend() html.Part {
	item := func(swatch, sign, words string) html.Part {
		i := html.El("i", html.Class(swatch), html.Text(sign))
		return html.All(html.El("li", i, html.Text(words)), html.Newline)
	}
	var all []html.Part
	names := map[string][]string{}
	for i, name := range c.Clients {
		color := colorOf(c.clients[i])
		names[color] = append(names[color], name)
	}
	for i := range colors {
		if color := colorOf(i); names[color] != nil {
			all = append(all, item("swatch "+color, "", strings.Join(names[color], ", ")))
		}
	}
	for _, l := range legends {
		words := l.words
		switch n := c.lanes.permits(); {
		case n > 1 && l.class == "clash":
			words = fmt.Sprintf("more than %d clients inside at once", n)
		case c.lanes.registers > 0 && l.class == "shared":
			words = "failed, or its outcome is unknown"
		case c.lanes.severalMayHold() && l.class == "queued":
			words = "keys of the same lock that were set after the key above"
		}
		all = append(all, html.If(c.has(l.class), item(l.swatch, l.sign, words)))
	}
	return html.All(html.All(all...), html.If(len(c.Pins) > 0, item("number", "1", "witness")))
}

// has reports whether any shape of the given class is drawn.
func (c *chart) has(class string) bool {
	return slices.ContainsFunc(c.Shapes, func(s shape) bool { return slices.Contains(strings.Fields(s.Class), class) })
}
