package browser

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// eachPage opens each kind of page on each screen.
func eachPage(t *testing.T, look func(p *tab, s screen)) {
	m := theMachine(t)
	for _, k := range kinds {
		for _, s := range screens {
			t.Run(k.name+", "+s.String(), func(t *testing.T) { look(m.open(t, k.name, s), s) })
		}
	}
}

// outside lists the elements that extend beyond the page's right edge, except those in a frame that scrolls.
const outside = `[...document.body.querySelectorAll("*")].filter(e => {
	const r = e.getBoundingClientRect();
	return r.width > 0 && r.right > WIDTH + 0.5 && !e.parentElement.closest(".plot, .scroll");
}).map(e => e.outerHTML.slice(0, 120))`

func TestPagesFitTheScreenAndLoadNothing(t *testing.T) {
	eachPage(t, func(p *tab, s screen) {
		width := value[int64](p, "Math.max(document.documentElement.scrollWidth, innerWidth)")
		if width != s.width {
			p.Errorf("the page is %d px wide", width)
		}
		for _, e := range value[[]string](p, strings.ReplaceAll(outside, "WIDTH", strconv.FormatInt(s.width, 10))) {
			p.Errorf("it reaches outside: %s", e)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.complaints {
			p.Error(c)
		}
		if name := os.Getenv("FENCEPOST_PICTURES"); name != "" {
			var shot []byte
			p.allInView(s)
			p.do(chromedp.CaptureScreenshot(&shot))
			file := strings.ReplaceAll(filepath.Base(p.Name()), ",", "") + ".png"
			if err := os.WriteFile(filepath.Join(name, file), shot, 0o666); err != nil {
				p.Fatal(err)
			}
		}
	})
}

// allInView makes the screen as tall as the page, because a browser may never paint the parts outside the screen.
func (p *tab) allInView(s screen) {
	p.Helper()
	height := value[int64](p, "document.documentElement.scrollHeight")
	p.do(emulation.SetDeviceMetricsOverride(s.width, height, 1, s.touch))
}

// text is a piece of text on the page, with its color and position.
type text struct {
	Words                    string
	Color                    string
	Left, Top, Right, Bottom float64
}

// texts lists all text on a page, with its color and position.
const texts = `(() => {
	const all = [], put = (words, color, r) => {
		if (r.width > 0 && words.trim()) all.push({Words: words.trim(), Color: color,
			Left: r.left + scrollX, Top: r.top + scrollY, Right: r.right + scrollX, Bottom: r.bottom + scrollY});
	};
	for (const e of document.querySelectorAll("svg text"))
		put(e.textContent, getComputedStyle(e).fill, e.getBoundingClientRect());
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;
		if (e.closest("svg, script, style, [hidden]")) continue;
		range.selectNodeContents(walk.currentNode);
		for (const r of range.getClientRects()) put(walk.currentNode.textContent, getComputedStyle(e).color, r);
	}
	return all;
})()`

func TestTextStandsOut(t *testing.T) { eachPage(t, (*tab).standsOut) }

// standsOut measures the contrast between each drawn glyph and its background. WCAG 2.2, 1.4.3, requires 4.5 to 1.
// Where a line crosses the text, up to a tenth of the text's pixels may have less contrast.
func (p *tab) standsOut(s screen) {
	p.Helper()
	p.allInView(s)
	all := value[[]text](p, texts)
	glyphs, ground := p.pictureWith("#ff00ff"), p.pictureWith("transparent")
	seen := 0
	for _, x := range all {
		ink, ok := parseColor(x.Color)
		if !ok {
			p.Errorf("%q has the colour %s", x.Words, x.Color)
			continue
		}
		if all := contrasts(glyphs, ground, x, ink); len(all) > 0 {
			seen++
			slices.Sort(all)
			if worst := all[len(all)/10]; worst < 4.5 {
				p.Errorf("%q, %s: contrast %.2f", x.Words, x.Color, worst)
			}
		}
	}
	if seen < 20 || seen < len(all)/4 { // wide tables scroll inside frames, so some of their text is not in view
		p.Errorf("%d of %d texts were seen", seen, len(all))
	}
}

// pictureWith takes a picture of the whole page with all text in one color.
func (p *tab) pictureWith(color string) image.Image {
	p.Helper()
	rule := `*, *::before, *::after { -webkit-text-fill-color: ` + color +
		` !important; text-decoration: none !important }
		svg text { fill: ` + color + ` !important } ::marker { color: transparent }`
	// The page's policy forbids another style element, so a script adds the rule.
	p.do(chromedp.Evaluate("{ const s = new CSSStyleSheet(); s.replaceSync(`"+rule+
		"`); document.adoptedStyleSheets.push(s); }", nil))
	var shot []byte
	p.do(chromedp.CaptureScreenshot(&shot))
	picture, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		p.Fatal(err)
	}
	return picture
}

// contrasts returns the contrast of each pixel that is more than half covered by the text.
func contrasts(glyphs, ground image.Image, x text, ink rgb) (all []float64) {
	box := image.Rect(int(x.Left), int(x.Top), int(math.Ceil(x.Right)),
		int(math.Ceil(x.Bottom))).Intersect(ground.Bounds())
	for py := box.Min.Y; py < box.Max.Y; py++ {
		for px := box.Min.X; px < box.Max.X; px++ {
			a, b := pixel(glyphs, px, py), pixel(ground, px, py)
			if distance(a, b) > distance(rgb{1, 0, 1}, b)/2 {
				all = append(all, contrast(ink, b))
			}
		}
	}
	return all
}
