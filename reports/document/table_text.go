package document

import (
	"slices"

	"github.com/fencepost-sim/fencepost/reports/text"
)

// gap is the number of terminal cells (see text.Cells) between two columns. Marks of the same group are closer together
// (see Table.gap).
const gap = 2

// wordsLeast is the minimum width of the last column's words, and nameLeast is the minimum width of a name, in terminal
// cells.
const wordsLeast, nameLeast = 20, 20

// layout contains the widths and positions of a table's columns on a terminal, in cells.
type layout struct {
	sign       int // width of the signs before the names
	name       int // width of the names
	wide       []int
	from, ends []int // start and end of each column, within its part of the table
	parts      []span
}

// layOut makes every column wide enough for all of its content, except the last column, which gets the remaining width.
// It wraps names before it splits the table into parts.
func (t *Table) layOut(width int) layout {
	l := layout{name: text.Cells(t.Heading), from: make([]int, len(t.Columns)), ends: make([]int, len(t.Columns))}
	for _, r := range t.Rows {
		if r.Sign != "" {
			l.sign = 3
		}
		l.name = max(l.name, r.indent()+text.Cells(r.Name))
	}
	l.name = min(l.name, width-l.sign-gap)
	l.measure(t)
	for l.place(t, width); len(l.parts) > 1 && l.name > max(width/3, nameLeast); l.place(t, width) {
		l.name--
	}
	return l
}

// indent returns a name's indentation, in spaces.
func (r *Row) indent() int {
	if r.Under {
		return gap
	}
	return 0
}

// measure makes each column as wide as its content, and each group wide enough for its title.
func (l *layout) measure(t *Table) {
	for _, c := range t.Columns {
		l.wide = append(l.wide, text.Cells(c.head()))
	}
	for _, r := range t.Rows {
		at := 0
		for _, c := range r.Cells {
			if c.Span <= 1 {
				l.wide[at] = max(l.wide[at], text.Cells(c.Words))
			}
			at += max(c.Span, 1)
		}
	}
	for _, g := range t.groups() {
		more := max(0, text.Cells(t.Columns[g.from].Group.Title)-l.widthOf(t, g))
		if t.Columns[g.from].figures() {
			l.wide[g.from] += more
		} else {
			l.wide[g.to-1] += more
		}
	}
}

// figures reports whether the column's cells are right-aligned.
func (c *Column) figures() bool { return !c.Words && c.Short == "" }

// widthOf returns the total width of a span's columns, in terminal cells.
func (l *layout) widthOf(t *Table, s span) int {
	cells := l.wide[s.from]
	for i := s.from + 1; i < s.to; i++ {
		cells += t.gap(i) + l.wide[i]
	}
	return cells
}

// gap returns the number of spaces before column i.
func (t *Table) gap(i int) int {
	if c := t.Columns[i]; i > 0 && c.Short != "" && c.Group == t.Columns[i-1].Group {
		return 1
	}
	return gap
}

// place divides the columns into parts that fit the width. The parts are printed one below the other. Each part gets as
// many groups as fit. A group that is too wide for any part is split into its columns. A table without columns has one
// part.
func (l *layout) place(t *Table, width int) {
	if l.parts = nil; len(t.Columns) == 0 {
		l.parts = []span{{}}
	}
	end, begin := width, l.sign+l.name
	for _, g := range t.groups() {
		if begin+gap+l.widthOf(t, g) <= width {
			end = l.add(t, g, end, width)
			continue
		}
		for i := g.from; i < g.to; i++ {
			end = l.add(t, span{i, i + 1}, end, width)
		}
	}
}

// add appends a range of columns to the last part of the table. If they do not fit, it starts a new part with them. end
// is the last part's width before the call. add returns the last part's width after the call.
func (l *layout) add(t *Table, columns span, end, width int) int {
	need, last := l.widthOf(t, columns), len(t.Columns)-1
	if columns.to > last && t.Columns[last].Words {
		need -= l.wide[last] - min(l.wide[last], wordsLeast)
	}
	if end+gap+need > width {
		end = l.sign + l.name
		l.parts = append(l.parts, span{from: columns.from})
	}
	l.parts[len(l.parts)-1].to = columns.to
	for i := columns.from; i < columns.to; i++ {
		l.from[i] = end + t.gap(i)
		l.ends[i] = l.from[i] + l.wide[i]
		end = l.ends[i]
	}
	return end
}

// Text writes the table. If the table is split into parts, only the first part has the notes.
func (t Table) Text(p *text.Writer) {
	l := t.layOut(p.Width())
	for i, part := range l.parts {
		if i > 0 {
			p.Blank()
		}
		t.heads(p, &l, part)
		group := ""
		for _, r := range t.Rows {
			if r.Group != group {
				group = r.Group
				p.Gap(true)
				p.Put(new(text.Line).Add(text.Bold, group))
			}
			t.row(p, &l, part, &r)
			for _, n := range r.Notes {
				if i == 0 {
					p.Text(n.Tone.Style(), l.sign+gap, n.Words)
				}
			}
		}
	}
}

// heads writes the group and column titles.
func (t *Table) heads(p *text.Writer, l *layout, part span) {
	groups, heads, titled := new(text.Line), new(text.Line), false
	if t.Heading != "" {
		heads.To(l.sign).Add(text.Bold, t.Heading)
	}
	for _, g := range t.groups() {
		if g = (span{max(g.from, part.from), min(g.to, part.to)}); g.from >= g.to {
			continue
		}
		title := t.Columns[g.from].Group.Title
		if t.Columns[g.from].figures() {
			groups.To(l.ends[g.to-1] - text.Cells(title))
		}
		groups.To(l.from[g.from]).Add(text.Bold, title)
		titled = titled || title != ""
		for i := g.from; i < g.to; i++ {
			t.put(heads, l, i, Cell{Words: t.Columns[i].head()})
		}
	}
	if titled {
		p.Put(groups)
	}
	if t.Heading != "" || slices.ContainsFunc(t.Columns, func(c Column) bool { return c.head() != "" }) {
		p.Put(heads)
	}
}

// put adds a cell's words to the line, at the column's position.
func (t *Table) put(ln *text.Line, l *layout, column int, c Cell) {
	at := l.from[column]
	if t.Columns[column].figures() {
		at = l.ends[column] - text.Cells(c.Words)
	}
	ln.To(at).Add(c.Tone.Style(), c.Words)
}

// row writes the cells of r in a range of columns. If the name or the last column is wrapped, its remaining lines
// follow.
func (t *Table) row(p *text.Writer, l *layout, part span, r *Row) {
	names := text.Wrap(r.Name, l.name-r.indent())
	first, last := new(text.Line), Cell{}
	if r.Sign != "" {
		first.Add(text.Plain, " ").Add(r.Tone.Style(), r.Sign)
	}
	first.To(l.sign+r.indent()).Add(text.Plain, names[0])
	at, end := 0, len(t.Columns)-1
	for _, c := range r.Cells {
		switch {
		case at < part.from || at >= part.to:
		case at == end && t.Columns[at].Words:
			last = c
		default:
			t.put(first, l, at, c)
		}
		at += max(c.Span, 1)
	}
	var lines []string
	if last.Words != "" {
		lines = text.Wrap(last.Words, max(p.Width()-l.from[end], 1))
	}
	for i := range max(len(names), len(lines)) {
		ln := first
		if i > 0 {
			if ln = new(text.Line); i < len(names) {
				ln.To(l.sign+r.indent()+gap).Add(text.Plain, names[i])
			}
		}
		if i < len(lines) {
			ln.To(l.from[end]).Add(last.Tone.Style(), lines[i])
		}
		p.Put(ln)
	}
}
