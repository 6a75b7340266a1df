package document

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Tone says how words stand out from the text around them. The tone alone never carries meaning.
type Tone uint8

// How words can stand out.
const (
	Plain  Tone = iota
	Good        // the result is as it should be
	Bad         // the result is not as it should be
	Open        // undecided, or something that a reader must know
	Strong      // no judgment; the words only stand out
)

// Style returns the tone's style on a terminal.
func (t Tone) Style() text.Style {
	return [...]text.Style{Plain: text.Plain, Good: text.Green, Bad: text.Red, Open: text.Yellow, Strong: text.Bold}[t]
}

// Class returns the tone's CSS class on a page.
func (t Tone) Class() string {
	return [...]string{Plain: "", Good: "good", Bad: "bad", Open: "open", Strong: "strong"}[t]
}

// Paragraph is running text.
type Paragraph struct {
	Words string
	Tone  Tone
}

// Text writes the paragraph.
func (b Paragraph) Text(p *text.Writer) { p.Text(b.Tone.Style(), 0, b.Words) }

// HTML writes the paragraph.
func (b Paragraph) HTML(p *html.Writer) { p.Put(b.part("words "), html.Newline) }

// part renders the paragraph for a page. It puts the given CSS class before the class for the tone.
func (b Paragraph) part(class string) html.Part {
	return html.El("p", html.Class(class+b.Tone.Class()), html.Text(b.Words))
}

// paragraphs renders several paragraphs. Their only CSS classes are those for their tones.
func paragraphs(all []Paragraph) html.Part {
	return html.Each(all, func(b Paragraph) html.Part { return b.part("") })
}

// Facts is a list of facts. If consecutive facts have the same name, the name is shown once.
type Facts []Fact

// Fact is a named fact stated in a document.
type Fact struct {
	Name, Value string
	Tone        Tone
	Command     bool // whether the value is a command for the reader to paste
}

// Notes returns facts that a reader must know, all with the same name.
func Notes(name string, list []string) Facts {
	all := Facts{}
	for _, s := range list {
		all = append(all, Fact{Name: name, Value: s, Tone: Open})
	}
	return all
}

// labelCells is the width of a label on a terminal, in cells, including the trailing space.
const labelCells = 8

// Label returns a label for a line on a terminal. It pads the name with spaces to the common label width.
func Label(name string) string {
	return name + strings.Repeat(" ", max(1, labelCells-text.Cells(name)))
}

// cells returns the width of the name column on a terminal, in cells. It is the common label width, or more if a name
// is longer.
func (b Facts) cells() int {
	wide := labelCells
	for _, f := range b {
		wide = max(wide, text.Cells(f.Name)+1)
	}
	return wide
}

// Text writes each fact on its own line, or on several lines if it is long.
func (b Facts) Text(p *text.Writer) {
	wide := b.cells()
	for i, f := range b {
		name := f.Name
		if i > 0 && b[i-1].Name == name {
			name = ""
		}
		label := name + strings.Repeat(" ", wide-text.Cells(name))
		if f.Command {
			p.Command(0, label, f.Value)
		} else {
			p.Hang(0, label, f.Tone.Style(), f.Value)
		}
	}
}

// HTML writes the facts as a two-column table.
func (b Facts) HTML(p *html.Writer) {
	if len(b) == 0 {
		return
	}
	rows := make(Facts, len(b))
	for i, f := range b {
		if rows[i] = f; i > 0 && b[i-1].Name == f.Name {
			rows[i].Name = ""
		}
	}
	p.Put(html.El("table", html.Class("facts"), html.El("tbody", html.Newline,
		html.Each(rows, func(f Fact) html.Part {
			return html.All(html.El("tr", html.El("th", html.Text(f.Name)),
				html.El("td", html.Class(f.Tone.Class()), f.cell())), html.Newline)
		}))), html.Newline)
}

// cell renders the value for a table on a page.
func (f Fact) cell() html.Part {
	if f.Command {
		return html.El("code", html.Text(f.Value))
	}
	return html.Text(f.Value)
}

// Lines are short lines of text in a list.
type Lines []string

// Text writes the lines.
func (b Lines) Text(p *text.Writer) {
	for _, l := range b {
		p.Put(new(text.Line).Add(text.Plain, l))
	}
}

// HTML writes each line as a paragraph.
func (b Lines) HTML(p *html.Writer) {
	for _, l := range b {
		Paragraph{Words: l}.HTML(p)
	}
}

// Totals is a list of counts, each with a description of what it counts.
type Totals []Total

// Total is a count with a label. Its tone (color) applies only if the count is not zero.
type Total struct {
	Count int
	Words string
	Tone  Tone
}

// tone returns the count's tone. A count of 0 is always plain.
func (t Total) tone() Tone {
	if t.Count == 0 {
		return Plain
	}
	return t.Tone
}

// Text writes each number on its own line.
func (b Totals) Text(p *text.Writer) {
	for _, t := range b {
		n := strconv.Itoa(t.Count)
		p.Put(new(text.Line).To(9-len(n)).Add(t.tone().Style(), n).Add(text.Plain, "  "+t.Words))
	}
}

// HTML writes the numbers in large type.
func (b Totals) HTML(p *html.Writer) {
	p.Put(html.El("ul", html.Class("totals"), html.Newline, html.Each(b, func(t Total) html.Part {
		return html.All(html.El("li", html.Class(t.tone().Class()),
			html.El("b", html.Text(text.Grouped(t.Count))), html.Text(" "+t.Words)), html.Newline)
	})), html.Newline)
}

// Section is a group of related blocks. Only a page shows the heading. In text output, the blocks have labels instead.
type Section struct {
	Heading string
	Anchor  string // names the section for links on the same page; empty if nothing links to it
	Body    []Block
}

// Text writes the blocks. It puts an empty line between two blocks unless both consist of labeled lines.
func (b Section) Text(p *text.Writer) {
	c := column{Writer: p}
	for _, one := range b.Body {
		c.block(one)
	}
}

// HTML writes the blocks on their own card, with the heading at the top.
func (b Section) HTML(p *html.Writer) {
	if b.Anchor != "" {
		p.Put(html.El("a", html.Attr("id", b.Anchor)))
	}
	p.Card(b.Heading, func() {
		for _, one := range b.Body {
			one.HTML(p)
		}
	})
}

// More is a block that appears in text output only if the user asks for everything (--all). It then comes at the very
// end, below a rule.
type More struct{ Block }

// Labeled is a block whose text output consists only of labeled lines.
type Labeled struct{ Block }

// Columns is a list of sections. A page shows them side by side if it is wide enough.
type Columns []Section

func (b Columns) blocks() (all []Block) {
	for _, s := range b {
		all = append(all, s)
	}
	return all
}

// Text writes the sections.
func (b Columns) Text(p *text.Writer) { Section{Body: b.blocks()}.Text(p) }

// HTML writes the sections, each on its own card.
func (b Columns) HTML(p *html.Writer) {
	p.Inside("div", "columns", func() {
		for _, s := range b {
			s.HTML(p)
		}
	})
}

// Whole is a document that another document includes in its text output, at the very end and below a rule. A page does
// not include it: either the document has its own page (Attached), or the page shows less of it.
type Whole struct{ *Document }

// Text writes the document.
func (b Whole) Text(p *text.Writer) { b.text(p, false) }

// HTML writes nothing.
func (Whole) HTML(*html.Writer) {}

// OnPage is a block that only a page shows.
type OnPage struct{ Block }

// Text writes nothing.
func (OnPage) Text(*text.Writer) {}

// InText is a block that appears only in text output.
type InText struct{ Block }

// HTML writes nothing.
func (InText) HTML(*html.Writer) {}

// Plan lists a run's faults, one per line, as in a plan file.
type Plan []PlanLine

// PlanLine is a fault as written in a plan file. Idle is a remark about the fault, or empty.
type PlanLine struct{ Line, Idle string }

// PlanOf returns a Plan with the given lines and no remarks.
func PlanOf(lines []string) (all Plan) {
	for _, l := range lines {
		all = append(all, PlanLine{Line: l})
	}
	return all
}

// Text writes the faults after a label.
func (b Plan) Text(p *text.Writer) {
	if len(b) == 0 {
		p.Hang(0, Label("plan"), text.Plain, "no faults")
	}
	label := Label("plan")
	for _, f := range b {
		words, tone := f.Line, text.Plain
		if f.Idle != "" {
			words, tone = words+" ("+f.Idle+")", text.Yellow
		}
		p.Hang(0, label, tone, words)
		label = Label("")
	}
}

// HTML writes the faults as a list.
func (b Plan) HTML(p *html.Writer) {
	if len(b) == 0 {
		p.Put(html.El("p", html.Text("no faults")))
		return
	}
	p.Put(html.El("ol", html.Class("plan"), html.Each(b, func(l PlanLine) html.Part {
		return html.El("li", html.El("code", html.Text(l.Line)),
			html.If(l.Idle != "", html.Text(" "), html.El("span", html.Class("idle"), html.Text("("+l.Idle+")"))))
	})))
}

// Command is a command for the user to paste.
type Command string

// Text writes the command after a label.
func (b Command) Text(p *text.Writer) { Again(p, string(b)) }

// HTML writes the command, with a button to copy it.
func (b Command) HTML(p *html.Writer) {
	p.Put(html.El("p", html.Class("repeat"), html.El("code", html.Text(string(b))),
		html.El("button", html.Attr("type", "button", "data-do", "copy"), html.Text("copy"))))
}

// Diff is a change to a file, in unified format.
type Diff string

// Text writes the diff.
func (b Diff) Text(p *text.Writer) {
	for _, l := range b.lines() {
		p.Put(new(text.Line).Add(l.Tone.Style(), l.Words))
	}
}

// HTML writes the diff.
func (b Diff) HTML(p *html.Writer) {
	p.Style(html.GridStyle)
	p.Put(html.El("pre", html.Attr("class", "diff scroll", "tabindex", 0),
		html.Each(b.lines(), func(l Paragraph) html.Part {
			return html.All(html.El("span", html.Class(l.Tone.Class()), html.Text(l.Words)), html.Newline)
		})), html.Newline)
}

// lines returns the diff's lines. Added lines have the tone (color) Good, and removed lines the tone Bad.
func (b Diff) lines() (all []Paragraph) {
	for words := range strings.Lines(string(b)) {
		line := Paragraph{Words: strings.TrimRight(words, "\r\n")}
		switch words[0] {
		case '+':
			line.Tone = Good
		case '-':
			line.Tone = Bad
		}
		all = append(all, line)
	}
	return all
}

// Links is a list of links from a page to other pages in the same folder. Each link's text says where it leads.
type Links []LinkTo

// LinkTo is a link to the attached page with this slug.
type LinkTo struct{ Words, Slug string }

// Text writes nothing.
func (Links) Text(*text.Writer) {}

// HTML writes the links as a list.
func (b Links) HTML(p *html.Writer) {
	if len(b) == 0 {
		return
	}
	p.Put(html.El("ul", html.Class("links"), html.Each(b, func(l LinkTo) html.Part {
		return html.El("li", html.El("a", html.Attr("href", p.Beside(l.Slug)), html.Text(l.Words)))
	})), html.Newline)
}
