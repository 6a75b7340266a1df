package reports

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// sweepMap is the picture of one law.
type sweepMap struct {
	*Sweep
	law *SweepLaw
	frame
}

// sign is an entry of the legend.
type legendSign struct {
	words string
	draw  func(c draw.Canvas, at vg.Point)
}

// signs are the entries of the legend: what the picture shows, and no more.
func (m *sweepMap) signs() []legendSign {
	var all []legendSign
	seen := map[string]bool{}
	for i := range m.law.Cells {
		mark, _ := m.law.Cells[i].mark()
		seen[mark] = true
	}
	for _, s := range []struct{ mark, words string }{{"✓", "held in all runs"}, {"±", "broken in some"}, {"✗", "broken in all"}, {"?", "not told"}, {"–", "no valid scenario"}} {
		if !seen[s.mark] {
			continue
		}
		for i := range m.law.Cells {
			c := &m.law.Cells[i]
			if mark, _ := c.mark(); mark == s.mark {
				all = append(all, legendSign{s.words, func(to draw.Canvas, at vg.Point) { c.shape(to, at, 4.5) }})
				break
			}
		}
	}
	stroke := func(style draw.LineStyle) func(draw.Canvas, vg.Point) {
		return func(c draw.Canvas, at vg.Point) { c.StrokeLine2(style, at.X-9, at.Y, at.X+9, at.Y) }
	}
	if len(m.law.Edges) > 0 {
		all = append(all, legendSign{"edge, bisected", stroke(edgeLine)})
	}
	for i := range m.Assertions {
		if len(m.Assertions[i].Turns) > 0 {
			all = append(all, legendSign{"bound of an asserted condition", stroke(claimLine)})
			break
		}
	}
	return all
}

var (
	edgeLine  = draw.LineStyle{Color: edgeInk, Width: 1.8}
	claimLine = draw.LineStyle{Color: claimInk, Width: 1.6, Dashes: []vg.Length{5, 3}}
)

// legend draws the entries in a line from the given height down; it returns how far down it reaches.
func (m *sweepMap) legend(c draw.Canvas, top vg.Length) vg.Length {
	text := sans(11, edgeInk)
	text.YAlign = draw.YCenter
	const signWidth, gap = 22, 20
	x, y := c.Min.X, top-8
	for _, s := range m.signs() {
		width := signWidth + text.Width(s.words)
		if x+width > c.Max.X && x > c.Min.X {
			x, y = c.Min.X, y-16
		}
		s.draw(c, vg.Point{X: x + 9, Y: y})
		c.FillText(text, vg.Point{X: x + signWidth, Y: y}, s.words)
		x += width + gap
	}
	return y - 10
}
