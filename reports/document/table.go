package document

import (
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Table is rows of cells under titles. On a terminal columns are as wide as what stands in them; what does not fit goes
// on below, in the last column.
type Table struct {
	Heading string // of the rows' names
	Columns []Column
	Rows    []Row
}

// Column is one of a table.
type Column struct {
	Title string
	Tip   string // explains the title on a page; may be empty
	Words bool   // it begins at the left; numbers end at the right
}

// Row is one of a table.
type Row struct {
	Sign  string // a mark of one cell: ✓, ✗, ? or –; empty if the row has none
	Name  string
	Tone  Tone // of the sign
	Tip   string
	Cells []Cell // one for each column, or fewer
	Notes []Paragraph
	Group string // begins a group of rows with this title where it differs from that of the row before
	Code  bool   // the name is a line to type
}

// Cell is what stands in a column.
type Cell struct {
	Words string
	Tone  Tone
}

// Class is the colour of the cell on a page.
func (c Cell) Class() string { return c.Tone.Class() }

// Class is the colour of the row's sign on a page.
func (r Row) Class() string { return r.Tone.Class() }

// Cells are plain ones.
func Cells(words ...string) (all []Cell) {
	for _, w := range words {
		all = append(all, Cell{Words: w})
	}
	return all
}

// gap is how many cells stand between two columns.
const gap = 2

// layout is where the columns of a table stand on a terminal.
type layout struct {
	sign int   // cells before a name
	ends []int // where the name and each column end
	from []int // where they begin
}

// layOut makes room for everything, but in the last column, which has what is left.
func (t *Table) layOut() layout {
	l := layout{}
	name := text.Cells(t.Heading)
	for _, r := range t.Rows {
		if r.Sign != "" {
			l.sign = 3
		}
		name = max(name, text.Cells(r.Name))
	}
	end := l.sign + name
	l.from, l.ends = []int{l.sign}, []int{end}
	for i, c := range t.Columns {
		wide := text.Cells(c.Title)
		for _, r := range t.Rows {
			if i < len(r.Cells) {
				wide = max(wide, text.Cells(r.Cells[i].Words))
			}
		}
		l.from = append(l.from, end+gap)
		end += gap + wide
		l.ends = append(l.ends, end)
	}
	return l
}

// Text writes the table.
func (t Table) Text(p *text.Writer) {
	l := t.layOut()
	head := new(text.Line)
	if t.Heading != "" {
		head.To(l.sign).Add(text.Bold, t.Heading)
	}
	for i, c := range t.Columns {
		if c.Words {
			head.To(l.from[i+1]).Add(text.Plain, c.Title)
		} else {
			head.Right(l.ends[i+1], c.Title)
		}
	}
	p.Put(head)
	group := ""
	for _, r := range t.Rows {
		if r.Group != group {
			group = r.Group
			p.Blank()
			p.Put(new(text.Line).Add(text.Bold, group))
		}
		t.row(p, &l, &r)
	}
}

// row writes a row, and below it what the last column has no room for, and the notes.
func (t *Table) row(p *text.Writer, l *layout, r *Row) {
	ln := new(text.Line)
	if r.Sign != "" {
		ln.Add(text.Plain, " ").Add(r.Tone.Style(), r.Sign)
	}
	ln.To(l.sign).Add(text.Plain, r.Name)
	var more []string
	for i, c := range r.Cells {
		words := c.Words
		if last := i == len(t.Columns)-1; last && t.Columns[i].Words {
			lines := text.Wrap(words, max(p.Width()-l.from[i+1], 1))
			if len(lines) > 0 {
				words, more = lines[0], lines[1:]
			}
		}
		if !t.Columns[i].Words {
			ln.To(l.ends[i+1] - text.Cells(words))
		}
		ln.To(l.from[i+1]).Add(c.Tone.Style(), words)
	}
	p.Put(ln)
	for _, words := range more {
		at := len(t.Columns)
		p.Put(new(text.Line).To(l.from[at]).Add(r.Cells[at-1].Tone.Style(), words))
	}
	for _, n := range r.Notes {
		p.Text(n.Tone.Style(), l.sign+gap, n.Words)
	}
}

// HTML writes the table.
func (t Table) HTML(p *html.Writer) { p.Show("table", t) }
