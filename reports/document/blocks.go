package document

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Tone is how words are set off. Meaning never hangs on it alone.
type Tone uint8

// The tones.
const (
	Plain  Tone = iota
	Good        // as it should be
	Bad         // as it should not be
	Open        // undecided, or a reader must know it
	Strong      // no judgement: it only stands out
)

// Style is the tone on a terminal.
func (t Tone) Style() text.Style {
	return [...]text.Style{Plain: text.Plain, Good: text.Green, Bad: text.Red, Open: text.Yellow, Strong: text.Bold}[t]
}

// Class is the tone on a page.
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

// part is the paragraph on a page, of a class beside that of its tone.
func (b Paragraph) part(class string) html.Part {
	return html.El("p", html.Class(class+b.Tone.Class()), html.Text(b.Words))
}

// paragraphs are several, of no class but their tones.
func paragraphs(all []Paragraph) html.Part {
	return html.Each(all, func(b Paragraph) html.Part { return b.part("") })
}

// Facts are things with their names, one below the other. A name that stands more than once is shown once.
type Facts []Fact

// Fact is a thing that a document states, with its name.
type Fact struct {
	Name, Value string
	Tone        Tone
}

// Notes are facts of one name, which a reader must know.
func Notes(name string, list []string) Facts {
	all := Facts{}
	for _, s := range list {
		all = append(all, Fact{name, s, Open})
	}
	return all
}

// labelCells is how wide a label on a terminal is, with the blank behind it.
const labelCells = 8

// Label makes a name the label before a text on a terminal.
func Label(name string) string {
	return name + strings.Repeat(" ", max(1, labelCells-text.Cells(name)))
}

// cells is how wide the names are on a terminal: as labels, or wider.
func (b Facts) cells() int {
	wide := labelCells
	for _, f := range b {
		wide = max(wide, text.Cells(f.Name)+1)
	}
	return wide
}

// Text writes a line for each fact, or more where it is long.
func (b Facts) Text(p *text.Writer) {
	wide := b.cells()
	for i, f := range b {
		name := f.Name
		if i > 0 && b[i-1].Name == name {
			name = ""
		}
		p.Hang(0, name+strings.Repeat(" ", wide-text.Cells(name)), f.Tone.Style(), f.Value)
	}
}

// HTML writes a table of two columns.
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
				html.El("td", html.Class(f.Tone.Class()), html.Text(f.Value))), html.Newline)
		}))), html.Newline)
}

// Lines are short lines of text, one below the other.
type Lines []string

// Text writes the lines.
func (b Lines) Text(p *text.Writer) {
	for _, l := range b {
		p.Put(new(text.Line).Add(text.Plain, l))
	}
}

// HTML writes a paragraph for each.
func (b Lines) HTML(p *html.Writer) {
	for _, l := range b {
		Paragraph{Words: l}.HTML(p)
	}
}

// Totals are numbers, each with what it counts.
type Totals []Total

// Total is a number of things. Its tone counts where it is not zero.
type Total struct {
	Count int
	Words string
	Tone  Tone
}

// tone is that of the number.
func (t Total) tone() Tone {
	if t.Count == 0 {
		return Plain
	}
	return t.Tone
}

// Text writes a line for each.
func (b Totals) Text(p *text.Writer) {
	for _, t := range b {
		n := strconv.Itoa(t.Count)
		p.Put(new(text.Line).To(9-len(n)).Add(t.tone().Style(), n).Add(text.Plain, "  "+t.Words))
	}
}

// HTML writes large numbers.
func (b Totals) HTML(p *html.Writer) {
	p.Put(html.El("ul", html.Class("totals"), html.Newline, html.Each(b, func(t Total) html.Part {
		return html.All(html.El("li", html.Class(t.tone().Class()),
			html.El("b", html.Text(text.Grouped(t.Count))), html.Text(" "+t.Words)), html.Newline)
	})), html.Newline)
}

// Section is blocks that belong together. Its heading stands on the page only: the blocks of a text have labels.
type Section struct {
	Heading string
	Body    []Block
}

// Text writes the blocks, with an empty line between them where they are no lines with labels.
func (b Section) Text(p *text.Writer) {
	c := column{Writer: p}
	for _, one := range b.Body {
		c.block(one)
	}
}

// HTML writes the blocks on a card of their own.
func (b Section) HTML(p *html.Writer) {
	p.Card(b.Heading, func() {
		for _, one := range b.Body {
			one.HTML(p)
		}
	})
}

// More is a block of a document that its text keeps back unless all of it is asked for. It stands below the ending
// then, behind a rule.
type More struct{ Block }

// Labelled is a block whose text is lines with labels.
type Labelled struct{ Block }

// Columns are sections that stand side by side on a page with room for that.
type Columns []Section

func (b Columns) blocks() (all []Block) {
	for _, s := range b {
		all = append(all, s)
	}
	return all
}

// Text writes the sections.
func (b Columns) Text(p *text.Writer) { Section{Body: b.blocks()}.Text(p) }

// HTML writes the sections, each on a card of its own.
func (b Columns) HTML(p *html.Writer) {
	p.Inside("div", "columns", func() {
		for _, s := range b {
			s.HTML(p)
		}
	})
}

// Whole is a document within the text of another one, below its ending and behind a rule. Its page is Attached, or
// shows less.
type Whole struct{ *Document }

// Text writes the document.
func (b Whole) Text(p *text.Writer) { b.text(p, false) }

// HTML writes nothing.
func (Whole) HTML(*html.Writer) {}

// OnPage is a block that a text does without.
type OnPage struct{ Block }

// Text writes nothing.
func (OnPage) Text(*text.Writer) {}

// InText is a block that a page does without.
type InText struct{ Block }

// HTML writes nothing.
func (InText) HTML(*html.Writer) {}

// Plan is the faults of a run, as a plan file has them, one a line.
type Plan []PlanLine

// PlanLine is a fault, and what a reader must know of it; Idle may be empty.
type PlanLine struct{ Line, Idle string }

// PlanOf are faults of which there is nothing to say.
func PlanOf(lines []string) (all Plan) {
	for _, l := range lines {
		all = append(all, PlanLine{Line: l})
	}
	return all
}

// Text writes the faults behind a label.
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

// Command is a command to paste.
type Command string

// Text writes the command behind a label.
func (b Command) Text(p *text.Writer) { Again(p, string(b)) }

// HTML writes the command with a button that copies it.
func (b Command) HTML(p *html.Writer) {
	p.Put(html.El("p", html.Class("repeat"), html.El("code", html.Text(string(b))),
		html.El("button", html.Attr("type", "button", "data-do", "copy"), html.Text("copy"))))
}

// Diff is what changes in a file, in the unified format.
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

// lines are those of the diff, in the colours of what is added and taken away.
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

// Links lead from a page to those beside it, with what a reader finds there.
type Links []LinkTo

// LinkTo leads to the page with a slug.
type LinkTo struct{ Words, Slug string }

// Text writes nothing.
func (Links) Text(*text.Writer) {}

// HTML writes a list.
func (b Links) HTML(p *html.Writer) {
	if len(b) == 0 {
		return
	}
	p.Put(html.El("ul", html.Class("links"), html.Each(b, func(l LinkTo) html.Part {
		return html.El("li", html.El("a", html.Attr("href", p.Beside(l.Slug)), html.Text(l.Words)))
	})), html.Newline)
}
