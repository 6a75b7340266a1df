package document

import "github.com/fencepost-sim/fencepost/reports/html"

// gridHead is what stands over columns on a page.
type gridHead struct {
	Group
	Span    int
	Upright bool
	First   bool // of a group
}

// gridCell is a cell of a page with where it stands.
type gridCell struct {
	Cell
	Kind  string // mark, words or figure
	First bool
}

// gridRow is a row of a page.
type gridRow struct {
	Row
	Cells []gridCell
}

// grid writes a table whose columns have groups: all of it, whatever the width, for the reader to scroll.
func (t *Table) grid(p *html.Writer) {
	var page struct {
		Heading       string
		Groups, Heads []gridHead // a column without a group is one of the groups
		Rows          []gridRow
		Width         int // in columns, with the names
	}
	page.Heading, page.Width = t.Heading, len(t.Columns)+1
	first := map[int]bool{}
	for _, g := range t.groups() {
		first[g.from] = true
		if of := t.Columns[g.from]; of.Group == (Group{}) {
			page.Groups = append(page.Groups, gridHead{Group: Group{of.Title, of.Tip}, First: true})
			continue
		}
		page.Groups = append(page.Groups, gridHead{Group: t.Columns[g.from].Group, Span: g.to - g.from, First: true})
		for i := g.from; i < g.to; i++ {
			c := t.Columns[i]
			page.Heads = append(page.Heads, gridHead{Group: Group{c.Title, c.Tip}, Upright: c.Short != "",
				First: i == g.from})
		}
	}
	for _, r := range t.Rows {
		row, at := gridRow{Row: r}, 0
		for _, c := range r.Cells {
			row.Cells = append(row.Cells, gridCell{c, t.Columns[at].kind(), first[at]})
			at += max(c.Span, 1)
		}
		page.Rows = append(page.Rows, row)
	}
	p.Style("grid.css")
	p.Show("grid", page)
}

// kind is how cells of a column look on a page.
func (c *Column) kind() string {
	switch {
	case c.Short != "":
		return "mark"
	case c.Words:
		return "words"
	}
	return "figure"
}
