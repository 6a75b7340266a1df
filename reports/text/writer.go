package text

import (
	"bytes"
	"io"
	"strings"
)

// Writer writes lines of at most width cells. A cell is the space that one letter takes up on a terminal (see Cells).
// Only page addresses may be wider. The Writer records the underlying writer's first error.
type Writer struct {
	w     io.Writer
	width int
	shift int // number of empty cells before each line
	color bool
	lines int
	gap   bool          // whether to write an empty line before the next line
	watch string        // a word to look for in what is written; empty if there is none
	seen  bool          // whether the word was written
	kept  *bytes.Buffer // what a draft has written; nil if this is not a draft
	err   error
}

// New returns a writer to w that writes lines of at most width cells, with or without colors.
func New(w io.Writer, width int, color bool) *Writer {
	return &Writer{w: w, width: width, color: color}
}

// Width returns the maximum number of cells in a line.
func (p *Writer) Width() int { return p.width }

// Lines returns the number of lines written so far.
func (p *Writer) Lines() int { return p.lines }

// Err returns the underlying writer's first error.
func (p *Writer) Err() error { return p.err }

// Watch sets a word, in lower case, that the writer watches for: from now on, it records whether it writes this word.
func (p *Writer) Watch(word string) { p.watch = word }

// mention records that the watched word has been written, if text contains it.
func (p *Writer) mention(text string) {
	p.seen = p.seen || p.watch != "" && strings.Contains(strings.ToLower(text), p.watch)
}

// Mentioned reports whether the watched word has been written since the last call to Forget.
func (p *Writer) Mentioned() bool { return p.seen }

// Forget makes Mentioned return false until the watched word (see Watch) is written again.
func (p *Writer) Forget() { p.seen = false }

// Put writes a line. It cuts the line at the width and removes trailing spaces.
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

// Gap determines whether an empty line is written before the next line. If no line follows, the empty line is not
// written either. Gap returns the previous setting.
func (p *Writer) Gap(wanted bool) (before bool) {
	before, p.gap = p.gap, wanted
	return before
}

// Indent calls write, and indents the lines that write produces by the given number of cells.
func (p *Writer) Indent(cells int, write func()) {
	width, shift := p.width, p.shift
	p.width, p.shift = width-cells, shift+cells
	write()
	p.width, p.shift = width, shift
}

// Text wraps text to the width and writes it, indented by the given number of cells.
func (p *Writer) Text(s Style, indent int, text string) {
	for _, t := range Wrap(text, p.width-indent) {
		p.Put(new(Line).To(indent).Add(s, t))
	}
}

// Hang writes text after a label. If the text wraps, its other lines begin below the text, not below the label.
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

// Flow writes items one after the other, two spaces apart, on as many lines as needed. It breaks an item only if it is
// wider than a line.
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

// Rule writes a horizontal line across the whole width.
func (p *Writer) Rule() {
	ln := new(Line)
	for range p.width {
		ln.Add(Plain, "─")
	}
	p.Put(ln)
}

// Margin returns the column at which right-aligned verdicts end. On a wide terminal, this is not the right edge: a
// verdict must stay near the rest of its line.
func (p *Writer) Margin() int { return min(p.width, 100) }

// Draft returns a writer that keeps its lines in memory. If there is enough room, the caller can write them later with
// p.Include.
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

// Title writes the subject of a report, followed by a description of the extent of the result, which may be empty. At
// the right margin, it writes the verdict.
func (p *Writer) Title(name, what, standing string, tone Style) {
	if what != "" {
		what = "  " + what
	}
	room := p.width - Cells(what) - Cells(standing) - 4
	ln := new(Line).Add(Bold, Clip(name, room)).Add(Plain, what)
	p.Put(ln.To(p.Margin()-Cells(standing)-2).Add(Plain, "  ").Add(tone, standing))
}

// Columns writes a label and, to its right, the items, in as many columns of equal width as will fit.
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
