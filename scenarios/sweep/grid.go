package sweep

import (
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Text draws the map's rows, with the highest value first, and the horizontal axis's values below them. If not all
// columns fit on the screen, the remaining ones are drawn in further blocks below.
func (m *Map) Text(p *text.Writer) {
	levels, rows := m.Axes[0].Levels, []Level{{}}
	if len(m.Axes) == 2 {
		rows = m.Axes[1].Levels
	}
	margin, wide := 0, 0
	for _, l := range rows {
		margin = max(margin, text.Cells(l.Text))
	}
	if margin > 0 {
		margin += 2
	}
	for _, l := range levels {
		wide = max(wide, text.Cells(l.Text)+1)
	}
	room := p.Width() - margin
	cell := 1 // width of one symbol and the gap after it, in characters
	for _, try := range []int{wide, 2} {
		if len(levels)*try <= room {
			cell = try
			break
		}
	}
	block := max(room/cell, 1)
	for from := 0; from < len(levels); from += block {
		to := min(from+block, len(levels))
		if len(m.Axes) == 2 {
			p.Put(new(text.Line).Add(text.Plain, m.Axes[1].Name))
		}
		for row := len(rows) - 1; row >= 0; row-- {
			ln := new(text.Line).Add(text.Plain, rows[row].Text)
			for i := from; i < to; i++ {
				sign := m.Law.Cells[row*len(levels)+i].sign()
				ln.To(margin+(i-from)*cell).Add(document.Tones[sign], sign)
			}
			p.Put(ln)
		}
		p.Put(m.values(levels[from:to], cell, margin, p.Width()))
		if len(m.Axes) == 2 {
			p.Blank()
		}
	}
}

// values prints the horizontal axis's values. If there is not enough room for all of them, it prints only every nth
// value.
func (m *Map) values(levels []Level, cell, margin, width int) *text.Line {
	for stride := 1; ; stride++ {
		ln, fits := new(text.Line), true
		for i := 0; i < len(levels); i += stride {
			at := margin + i*cell
			fits = fits && (i == 0 || at > ln.Cells()) && at+text.Cells(levels[i].Text) <= width
			ln.To(at).Add(text.Plain, levels[i].Text)
		}
		if !fits && stride < len(levels) {
			continue
		}
		if name := "  " + m.Axes[0].Name; len(m.Axes) == 2 && ln.Cells()+text.Cells(name) <= width {
			ln.Add(text.Plain, name)
		}
		return ln
	}
}
