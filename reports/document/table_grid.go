package document

import (
	"cmp"
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/html"
)

// grid writes a table with column groups. It never splits the table, however wide, because the page can be scrolled.
func (t *Table) grid(p *html.Writer) {
	p.Style(html.GridStyle)
	groups, heads := t.gridHeads()
	p.Put(html.El("div", html.Attr("class", "scroll", "tabindex", 0, "role", "group", "aria-label", t.Heading),
		html.El("table", html.Class("grid"), html.Newline,
			html.El("thead",
				html.El("tr", html.El("th", html.Attr("rowspan", 2, "scope", "col"), html.Text(t.Heading)), groups),
				html.Newline, html.El("tr", heads)), html.Newline,
			html.El("tbody", html.Newline, html.Each(t.Rows, t.gridRow)), html.Newline)), html.Newline)
}

// gridHeads renders the two rows of titles: the group titles above the column titles. If a column has no group, its
// title is in the upper row.
func (t *Table) gridHeads() (groups, heads html.Part) {
	var above, below []html.Part
	for _, g := range t.groups() {
		group, spans := t.Columns[g.from].Group, html.Attr("colspan", g.to-g.from, "scope", "colgroup")
		if group == (Group{}) {
			group, spans = t.Columns[g.from].titled(), html.Attr("rowspan", 2, "scope", "col")
		}
		above = append(above, html.El("th", html.Class("group first"), spans, group.explained()))
		if t.Columns[g.from].Group == (Group{}) {
			continue
		}
		for i := g.from; i < g.to; i++ {
			c := &t.Columns[i]
			class := ""
			if c.Short != "" {
				class = "upright"
			}
			below = append(below, html.El("th", html.Attr("scope", "col", "class", class+firstClass(i == g.from)),
				c.titled().explained()))
		}
	}
	return html.All(above...), html.All(below...)
}

// titled returns the column's title and tip.
func (c *Column) titled() Group { return Group{c.Title, c.Tip} }

// explained renders the title with its explanation.
func (g Group) explained() html.Part {
	return html.Explained(g.Title, cmp.Or(g.Tip, checker.Law(g.Title).Says()))
}

// firstClass returns the CSS class of a cell in a group's first column (isFirst), or "" for any other cell.
func firstClass(isFirst bool) string {
	if isFirst {
		return " first"
	}
	return ""
}

// gridRow renders a row, with its notes below it.
func (t *Table) gridRow(r Row) html.Part {
	var cells []html.Part
	at := 0
	for _, c := range r.Cells {
		cells = append(cells, c.part(t.Columns[at].kind()+firstClass(t.begins(at))))
		at += max(c.Span, 1)
	}
	return html.All(
		html.El("tr", html.If(r.Under, html.Class("under")),
			html.El("th", html.Attr("scope", "row"), html.Explained(r.Name, r.Tip)), html.All(cells...)), html.Newline,
		html.If(len(r.Notes) > 0, html.El("tr", html.Class("under notes"),
			html.El("td", html.Attr("colspan", len(t.Columns)+1), paragraphs(r.Notes))), html.Newline))
}

// part renders the cell for a grid. The cell has the given CSS class and, if it has a tone (a color), the tone's class.
func (c Cell) part(class string) html.Part {
	if tone := c.Tone.Class(); tone != "" {
		class += " " + tone
	}
	return html.El("td", html.Class(class),
		html.If(c.Span > 0, html.Attr("colspan", c.Span)), html.If(c.Tip != "", html.Attr("title", c.Tip)),
		html.Text(c.Words),
		html.If(c.Bar > 0,
			html.El("svg", html.Attr("class", "length", "width", fmt.Sprintf("%d%%", c.Bar), "height", 3),
				html.El("rect", html.Attr("width", "100%", "height", 3)))))
}

// kind returns the CSS class of the column's cells on a page.
func (c *Column) kind() string {
	switch {
	case c.Short != "":
		return "mark"
	case c.Words:
		return "words"
	}
	return "figure"
}
