package sweep

import (
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// signGrid draws the points of a sweep as signs: a strip for one axis, a map for two.
type signGrid struct {
	*Report
	law    *Law
	across int  // points in a row
	rows   int  // of points
	margin int  // cells before the signs
	cell   int  // cells of one sign, its gap included
	block  int  // signs in a line; more go into another block of lines
	beside bool // the words of each row stand at its right
}

// newGrid lays the grid out: with a gap between the signs where there is room for it.
func newGrid(s *Report, l *Law, width int) *signGrid {
	g := &signGrid{Report: s, law: l, across: len(s.Axes[0].Levels), margin: 2, cell: 2}
	g.rows = len(l.Cells) / g.across
	if g.two() {
		for _, level := range s.Axes[1].Levels {
			g.margin = max(g.margin, 4+text.Cells(level.Text))
		}
	}
	room := width - g.margin
	longest := 0
	for i := range l.Lines {
		longest = max(longest, text.Cells(l.Lines[i].Words("")))
	}
	side := g.two() && len(l.Lines) == g.rows && l.Lines[0].Axis == 0
	wide := 2 // so wide that each value has room
	for _, level := range s.Axes[0].Levels {
		wide = max(wide, text.Cells(level.Text)+1)
	}
	for _, try := range []struct {
		cell   int
		beside bool
	}{{wide, true}, {2, true}, {1, true}, {wide, false}, {2, false}, {1, false}} {
		g.cell, g.beside = try.cell, try.beside && side
		needed := g.across * g.cell
		if try.beside {
			needed += 2 + longest
		}
		if needed <= room && g.beside == try.beside {
			break
		}
	}
	g.block = min(g.across, max(room/g.cell, 1))
	return g
}

func (g *signGrid) two() bool { return len(g.Axes) == 2 }

// draw draws the rows, the highest first, and the values across below them.
func (g *signGrid) draw(p *text.Writer) {
	for from := 0; from < g.across; from += g.block {
		to := min(from+g.block, g.across)
		if g.two() {
			p.Put(new(text.Line).To(2).Add(text.Plain, g.Axes[1].Name))
		}
		for row := g.rows - 1; row >= 0; row-- {
			ln := new(text.Line)
			if g.two() {
				ln.To(2).Add(text.Plain, g.Axes[1].Levels[row].Text)
			}
			ln.To(g.margin)
			for i := from; i < to; i++ {
				mark := g.law.Cells[row*g.across+i].sign()
				ln.To(g.margin+(i-from)*g.cell).Add(document.Tones[mark], mark)
			}
			if g.beside {
				ln.To(g.margin+(to-from)*g.cell+2).Add(text.Plain, g.law.Lines[row].Words(""))
			}
			p.Put(ln)
		}
		g.values(p, from, to)
	}
}

// values writes the values across: each, or as many at even distances as have room.
func (g *signGrid) values(p *text.Writer, from, to int) {
	ln := new(text.Line)
	for i := from; i < to; i += g.stride(p, from, to) {
		ln.To(g.margin+(i-from)*g.cell).Add(text.Plain, g.Axes[0].Levels[i].Text)
	}
	if name := "  " + g.Axes[0].Name; g.two() && ln.Cells()+text.Cells(name) <= p.Width() {
		ln.Add(text.Plain, name)
	}
	p.Put(ln)
}

// stride is the least distance between values that leaves a gap between them.
func (g *signGrid) stride(p *text.Writer, from, to int) int {
	for stride := 1; stride < to-from; stride++ {
		free := from
		fits := true
		for i := from; i < to; i += stride {
			at := g.margin + (i-from)*g.cell
			end := at + text.Cells(g.Axes[0].Levels[i].Text)
			fits = fits && (i == from || at > free) && end <= p.Width()
			free = end
		}
		if fits {
			return stride
		}
	}
	return to - from
}
