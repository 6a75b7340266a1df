package document

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/html"
)

// Table is a table with column titles. On a terminal, each column is as wide as its content. If the last column has
// words, they are wrapped. Columns that do not fit are shown in another table below, which repeats the row names.
type Table struct {
	Heading string // title of the column with the row names
	Columns []Column
	Rows    []Row
}

// Column is a column of a table.
type Column struct {
	Title string
	// a one-cell-wide title for a column of marks on a terminal; a page shows Title vertically instead
	Short string
	Tip   string // explains the title on a page; may be empty
	Group Group  // its title spans this column and the adjacent columns of the same group
	Words bool   // whether the column has left-aligned words; otherwise, it has right-aligned numbers
}

// Group describes adjacent columns that belong together. A column with the zero Group isn't part of any group.
type Group struct{ Title, Tip string }

// Row is a table row.
type Row struct {
	Sign  string // a mark that is one cell wide: ✓, ✗, ? or –; empty if the row has none
	Name  string
	Tone  Tone // tone of Sign
	Tip   string
	Cells []Cell // one for each column; the last ones may be missing
	Notes []Paragraph
	Group string // title of a group of rows; shown if it differs from that of the row before
	Code  bool   // whether the name is a line of code
	Link  string // Anchor of the section to which the name links on a page; empty if there is no such section
	Under bool   // whether the row is a variant of the row before
}

// Cell is a cell in a row. It spans one or more columns.
type Cell struct {
	Words string
	Tone  Tone
	Tip   string // explains the words on a page; may be empty
	// how many columns the cell spans, if more than one; they must be wide enough for its words
	Span int
	Bar  int // length of the bar below a number on a page, in percent; 0 means no bar
}

// Cells returns cells that contain only the given words.
func Cells(words ...string) (all []Cell) {
	for _, w := range words {
		all = append(all, Cell{Words: w})
	}
	return all
}

// head returns the column's heading on a terminal.
func (c *Column) head() string { return cmp.Or(c.Short, c.Title) }

// Key returns the table's legend for text output. It explains the marks and lists the tips for columns and groups.
func (t Table) Key() Facts {
	var marks, others Facts
	add := func(to *Facts, name, value string) {
		if fact := (Fact{Name: name, Value: value}); value != "" && !slices.Contains(*to, fact) {
			*to = append(*to, fact)
		}
	}
	for _, c := range t.Columns {
		add(&others, c.Group.Title, c.Group.Tip)
		if says := cmp.Or(c.Tip, checker.Law(c.Title).Says()); c.Short != "" {
			add(&marks, c.Short, strings.TrimSuffix(c.Title+": "+says, ": "))
		} else {
			add(&others, c.Title, says)
		}
	}
	return append(marks, others...)
}

// span is a range of columns, for example those in a group or in part of the table.
type span struct{ from, to int }

// groups returns the column ranges that must stay together.
func (t *Table) groups() (all []span) {
	for i := range t.Columns {
		if t.begins(i) {
			all = append(all, span{from: i})
		}
		all[len(all)-1].to = i + 1
	}
	return all
}

// begins reports whether column i is its group's first column. It returns true if the column has no group.
func (t *Table) begins(i int) bool {
	group := t.Columns[i].Group
	return i == 0 || group == (Group{}) || group != t.Columns[i-1].Group
}

// grouped reports whether any column has a group.
func (t *Table) grouped() bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Group != (Group{}) })
}

// HTML writes the table.
func (t Table) HTML(p *html.Writer) {
	if t.grouped() {
		t.grid(p)
		return
	}
	p.Put(html.El("div", html.Attr("class", "scroll", "tabindex", 0, "role", "group"),
		html.If(t.Heading != "", html.Attr("aria-label", t.Heading)),
		html.El("table", html.Class("laws counts"), html.Newline,
			html.El("thead", html.El("tr", html.El("th"), html.El("th", html.Text(t.Heading)),
				html.Each(t.Columns, Column.heading))), html.Newline,
			html.El("tbody", html.Newline, t.pageRows()), html.Newline)), html.Newline)
}

// heading renders the column's title for a page.
func (c Column) heading() html.Part {
	return html.El("th", html.If(c.Words, html.Class("words")), html.Explained(c.Title, c.Tip))
}

// pageRows renders the rows for a page, with each group of rows under its title.
func (t *Table) pageRows() html.Part {
	var all []html.Part
	group := ""
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Group != group {
			group = r.Group
			all = append(all, html.El("tr", html.Class("group"), html.El("td"),
				html.El("th", html.Attr("scope", "rowgroup", "colspan", len(t.Columns)+1), html.Text(group))),
				html.Newline)
		}
		all = append(all, t.pageRow(r))
	}
	return html.All(all...)
}

// pageRow renders a row for a page, with its notes below it.
func (t *Table) pageRow(r *Row) html.Part {
	var cells []html.Part
	for i, c := range r.Cells {
		class, title := c.Tone.Class(), t.Columns[i].Title
		if t.Columns[i].Words {
			class += " words"
		}
		cells = append(cells, html.El("td", html.Attr("class", class, "data-th", title), html.Text(c.Words)))
	}
	return html.All(
		html.El("tr", html.El("td", html.Class("sign "+r.Tone.Class()), html.Text(r.Sign)),
			html.El("td", html.Class("law"), r.name()), html.All(cells...)), html.Newline,
		html.If(len(r.Notes) > 0, html.El("tr", html.Class("notes"), html.El("td"),
			html.El("td", html.Attr("colspan", len(t.Columns)+1), paragraphs(r.Notes))), html.Newline))
}

// name renders the row's name for a page.
func (r *Row) name() html.Part {
	switch {
	case r.Tip != "":
		return html.Explained(r.Name, r.Tip)
	case r.Code:
		return html.El("code", html.Text(r.Name))
	case r.Link != "":
		return html.El("a", html.Attr("href", "#"+r.Link), html.Text(r.Name))
	}
	return html.Law(r.Name)
}
