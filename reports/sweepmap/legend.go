package sweepmap

import (
	"github.com/fencepost-sim/fencepost/reports/paper"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
)

// Map is the picture of one law.
type Map struct {
	*sweep.Sweep
	Scenario string // its name
	Law      *Law
	frame
}

// sign is an entry of the legend.
type legendSign struct {
	words string
	draw  func(c paper.Canvas, at paper.Point)
}

// signs are the entries of the legend: what the picture shows, and no more.
func (m *Map) signs() []legendSign {
	var all []legendSign
	seen := map[string]bool{}
	for i := range m.Law.Cells {
		seen[m.Law.Cells[i].sign()] = true
	}
	for _, s := range []struct{ mark, words string }{{"✓", "held in all runs"}, {"±", "broken in some"},
		{"✗", "broken in all"}, {"?", "not judged"}, {"–", "no valid scenario"}} {
		if !seen[s.mark] {
			continue
		}
		for i := range m.Law.Cells {
			c := &m.Law.Cells[i]
			if c.sign() == s.mark {
				all = append(all, legendSign{s.words, func(to paper.Canvas, at paper.Point) { c.shape(to, at, 4.5) }})
				break
			}
		}
	}
	stroke := func(style paper.Stroke) func(paper.Canvas, paper.Point) {
		return func(c paper.Canvas, at paper.Point) {
			c.Line(style, paper.Point{X: at.X - 9, Y: at.Y}, paper.Point{X: at.X + 9, Y: at.Y})
		}
	}
	if len(m.Law.Edges) > 0 {
		all = append(all, legendSign{"edge, bisected", stroke(edgeLine)})
	}
	for i := range m.Asserted {
		if len(m.Asserted[i].Turns) > 0 {
			all = append(all, legendSign{"bound of an asserted condition", stroke(claimLine)})
			break
		}
	}
	return all
}

var (
	edgeLine  = paper.Stroke{Ink: edgeInk, Width: 1.8}
	claimLine = paper.Stroke{Ink: claimInk, Width: 1.6, Dashes: []float64{5, 3}}
)

// legend draws the entries in a line from the given height down; it returns how far down it reaches.
func (m *Map) legend(c paper.Canvas, top float64) float64 {
	text := sans(11, edgeInk)
	text.Y = paper.Center
	const signWidth, gap = 22, 20
	x, y := c.Min.X, top-8
	for _, s := range m.signs() {
		width := signWidth + text.Width(s.words)
		if x+width > c.Max.X && x > c.Min.X {
			x, y = c.Min.X, y-16
		}
		s.draw(c, paper.Point{X: x + 9, Y: y})
		c.Write(text, paper.Point{X: x + signWidth, Y: y}, s.words)
		x += width + gap
	}
	return y - 10
}
