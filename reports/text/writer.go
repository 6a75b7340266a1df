package text

import (
	"bytes"
	"io"
	"strings"
)

// Writer writes lines of at most width cells, but for the address of a page. It keeps the first error.
type Writer struct {
	w     io.Writer
	width int
	shift int // cells before each line
	color bool
	lines int
	gap   bool          // an empty line comes before the next one
	watch string        // a word whose mention is noted; empty for none
	seen  bool          // it was mentioned
	kept  *bytes.Buffer // what a draft has written; nil for what is no draft
	err   error
}

// New makes a writer to w of lines of at most width cells, in colour or without.
func New(w io.Writer, width int, color bool) *Writer {
	return &Writer{w: w, width: width, color: color}
}

// Width is how many cells a line may have.
func (p *Writer) Width() int { return p.width }

// Lines is how many lines were written.
func (p *Writer) Lines() int { return p.lines }

// Err is the first error of the writer below.
func (p *Writer) Err() error { return p.err }

// Watch notes from now on whether a word, in small letters, is mentioned.
func (p *Writer) Watch(word string) { p.watch = word }

// mention notes a text as if it were written.
func (p *Writer) mention(text string) {
	p.seen = p.seen || p.watch != "" && strings.Contains(strings.ToLower(text), p.watch)
}

// Mentioned reports whether the word that is watched for was mentioned since Forget.
func (p *Writer) Mentioned() bool { return p.seen }

// Forget forgets that the word was mentioned.
func (p *Writer) Forget() { p.seen = false }

// Put writes a line, cut at the width. Blanks at its end are left out.
func (p *Writer) Put(l *Line) {
	var b strings.Builder
	if p.gap {
		p.gap = false
		p.lines++
		b.WriteByte('\n')
	}
	if len(l.parts) > 0 {
		b.WriteString(strings.Repeat(" ", p.shift))
	}
	left := p.width
	for i, part := range l.parts {
		text := part.text
		if !isAddress(text) {
			text = Clip(text, left)
		}
		if i == len(l.parts)-1 || len(text) < len(part.text) {
			text = strings.TrimRight(text, " ")
		}
		left -= Cells(text)
		p.mention(text)
		if text == "" {
			continue
		}
		if p.color && part.style != Plain {
			text = escapes[part.style] + text + reset
		}
		b.WriteString(text)
	}
	b.WriteByte('\n')
	p.lines++
	if p.err == nil {
		_, p.err = io.WriteString(p.w, b.String())
	}
}

// Blank writes an empty line.
func (p *Writer) Blank() { p.Put(new(Line)) }

// Gap says whether an empty line comes before the next one, if there is a next one. It returns what was said before.
func (p *Writer) Gap(wanted bool) (before bool) {
	before, p.gap = p.gap, wanted
	return before
}

// Indent moves to the right, by a number of cells, all lines that write writes.
func (p *Writer) Indent(cells int, write func()) {
	width, shift := p.width, p.shift
	p.width, p.shift = width-cells, shift+cells
	write()
	p.width, p.shift = width, shift
}

// Text wraps text to the width and writes it, each line indented by the given number of cells.
func (p *Writer) Text(s Style, indent int, text string) {
	for _, t := range Wrap(text, p.width-indent) {
		p.Put(new(Line).To(indent).Add(s, t))
	}
}

// Hang writes text after a label; what does not fit goes on below the text, not below the label.
func (p *Writer) Hang(indent int, label string, s Style, text string) {
	from := indent + Cells(label)
	for i, t := range Wrap(text, p.width-from) {
		ln := new(Line).To(indent)
		if i == 0 {
			ln.Add(Plain, label)
		}
		p.Put(ln.To(from).Add(s, t))
	}
}

// Flow writes items one after the other, two spaces apart, and never breaks one unless it must.
func (p *Writer) Flow(title string, items []string) {
	ln := new(Line).Add(Plain, title)
	fresh := true
	for _, it := range items {
		if !fresh && ln.cells+2+Cells(it) > p.width {
			p.Put(ln)
			ln, fresh = new(Line), true
		}
		if !fresh {
			ln.Add(Plain, "  ")
		}
		ln.Add(Plain, it)
		fresh = false
	}
	p.Put(ln)
}

// Rule writes a line across the width.
func (p *Writer) Rule() {
	ln := new(Line)
	for range p.width {
		ln.Add(Plain, "─")
	}
	p.Put(ln)
}

// Margin is the column at which the right-aligned words of the verdict end: near the eye also on a wide terminal.
func (p *Writer) Margin() int { return min(p.width, 100) }

// Draft begins lines for p that are kept until it is known whether there is room for them.
func (p *Writer) Draft() *Writer {
	kept := new(bytes.Buffer)
	return &Writer{w: kept, kept: kept, width: p.width, shift: p.shift, color: p.color, watch: p.watch,
		seen: p.seen}
}

// Include writes the lines of a draft.
func (p *Writer) Include(draft *Writer) {
	if p.gap && draft.lines > 0 {
		p.gap = false
		p.Blank()
	}
	p.lines += draft.lines
	p.seen = p.seen || draft.seen
	if p.err == nil {
		_, p.err = p.w.Write(draft.kept.Bytes())
	}
}

// Title writes what a report is about, at its left, and how it stands, at the margin. what says how much it is about;
// it may be empty.
func (p *Writer) Title(name, what, standing string, tone Style) {
	if what != "" {
		what = "  " + what
	}
	room := p.width - Cells(what) - Cells(standing) - 4
	ln := new(Line).Add(Bold, Clip(name, room)).Add(Plain, what)
	p.Put(ln.To(p.Margin()-Cells(standing)-2).Add(Plain, "  ").Add(tone, standing))
}

// Columns writes items in as many columns of one width as there is room for, all behind a label at the left.
func (p *Writer) Columns(label string, items []string) {
	const gap = 3
	from, wide := Cells(label), 0
	for _, it := range items {
		wide = max(wide, Cells(it))
	}
	n := max(1, (p.width-from+gap)/(wide+gap))
	for i := 0; i < len(items); i += n {
		ln := new(Line)
		if i == 0 {
			ln.Add(Plain, label)
		}
		for k, it := range items[i:min(i+n, len(items))] {
			ln.To(from+k*(wide+gap)).Add(Plain, it)
		}
		p.Put(ln)
	}
}
