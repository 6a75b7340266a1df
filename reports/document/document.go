package document

import (
	"io"
	"math"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Document is what a command reports about its result. The package that produced the result builds the document once.
// The text, the page, the JSON, the JUnit XML and the step summary are all generated from it.
type Document struct {
	Title
	Body        []Block           // most important blocks first
	Interrupted bool              // whether a signal ended the work early
	Files       string            // folder with all findings; empty if there is none
	Repeat      string            // command to paste that repeats or continues the work
	Data        any               // the JSON object: a struct that embeds Head, or a pointer to one
	Suite       Suite             // the cases that a CI system counts
	Beside      func() []Attached // called when a page is written; may be slow; nil if there are no further pages
	Metrics     []byte            // metrics in the OpenMetrics text format; nil if there are none
}

// Title is a document's opening.
type Title struct {
	Name     string      // the subject: "kleppmann-gc-pause"; empty if the text has no title
	Size     string      // the size of the result: "1,000 seeds"; may be empty
	Verdict  string      // the verdict in a few words; may be empty
	Tone     Tone        // tone of the verdict
	Headline string      // what happened, in a sentence or two; may be empty
	Summary  string      // one sentence about the subject; may be empty
	Notes    []Paragraph // what a reader must know to understand the headline
}

// Attached is a separate page that a document's main page links to.
type Attached struct {
	Slug string // the last part of its file name, before the extension: "seed-7"
	*Document
	Foreign func(io.Writer) error // used if Document is nil: writes a page that was not built as a Document
}

// Block is a part of a document that can be written both to a terminal and to a page.
type Block interface {
	Text(p *text.Writer)
	HTML(p *html.Writer)
}

// fitting is a block that can be shortened to fit the terminal's height. On an HTML page, and in text with --all, it is
// always shown in full.
type fitting interface {
	Block
	// FitText writes the block in at most the given number of lines, if possible.
	FitText(p *text.Writer, room int)
}

// screenLines is the number of lines that text output should not exceed. If it does, blocks of type fitting are
// shortened.
const screenLines = 50

// Text writes the document for a person at a terminal. No line is wider than opt.Width. It fails only if writing to w
// fails.
func (d *Document) Text(w io.Writer, opt TextOptions) error {
	p := opt.Writer(w)
	d.text(p, opt.All)
	return p.Err()
}

func (d *Document) text(p *text.Writer, all bool) {
	d.Title.Text(p)
	d.texts(&column{Writer: p, begun: d.Name != ""}, d.Body, all)
	p.Gap(false)
	for _, b := range d.Body {
		if below, kept := isBelow(b); below && (all || !kept) {
			p.Blank()
			p.Rule()
			b.Text(p)
		}
	}
}

// isBelow reports whether text output shows the block below the document's closing lines. kept reports whether it does
// so only with --all.
func isBelow(b Block) (below, kept bool) {
	switch b.(type) {
	case Whole:
		return true, false
	case More:
		return true, true
	}
	return false, false
}

// texts writes a document's blocks as text, followed by the closing lines. It skips blocks that belong below these
// lines (see isBelow).
func (d *Document) texts(c *column, body []Block, all bool) {
	for i, b := range body {
		if below, _ := isBelow(b); below {
			continue
		}
		fit, ok := b.(fitting)
		if !ok {
			c.block(b)
			continue
		}
		room := math.MaxInt
		if !all {
			rest := &column{Writer: c.Draft(), begun: true}
			fit.FitText(rest.Writer, room) // this draft finds out which words the end must explain
			own := rest.Lines()
			d.texts(rest, body[i+1:], all)
			room = screenLines - c.Lines() - 1 - (rest.Lines() - own)
		}
		c.put(false, false, func() { fit.FitText(c.Writer, room) })
	}
	c.put(true, true, func() {
		stopped(c.Writer, d.Interrupted)
		Closing(c.Writer, d.Files, d.Repeat)
	})
}

// column writes blocks one below the other. It puts an empty line between two blocks unless both are labeled lines.
type column struct {
	*text.Writer
	begun, labels bool // whether something was written, and whether its last line has a label
}

func (c *column) block(b Block) {
	begins, ends := labeled(b)
	c.put(begins, ends, func() { b.Text(c.Writer) })
}

// put writes a block, which may be empty. begins and ends say whether the block's first and last lines have labels.
func (c *column) put(begins, ends bool, write func()) {
	before, lines := c.Gap(false), c.Lines()
	c.Gap(before || c.begun && !(c.labels && begins))
	if write(); c.Lines() == lines {
		c.Gap(before)
		return
	}
	c.begun, c.labels = true, ends
}

// labeled reports whether a block's first line has a label, and whether its last line has one.
func labeled(b Block) (begins, ends bool) {
	switch b := b.(type) {
	case Facts:
		labels := b.cells() == labelCells // facts with wider names are separated from other blocks by an empty line
		return labels, labels
	case Plan, Command, Metrics, Labeled:
		return true, true
	case InText:
		return labeled(b.Block)
	case Columns:
		return labeled(Section{Body: b.blocks()})
	case Section:
		for i, one := range shown(b.Body) {
			first, last := labeled(one)
			if ends = last; i == 0 {
				begins = first
			}
		}
	}
	return begins, ends
}

// shown returns the blocks that appear in text output.
func shown(body []Block) (all []Block) {
	for _, b := range body {
		switch one := b.(type) {
		case OnPage, Links:
			continue
		case InText:
			if len(shown([]Block{one.Block})) == 0 {
				continue
			}
		case Facts:
			if len(one) == 0 {
				continue
			}
		case Section:
			if len(shown(one.Body)) == 0 {
				continue
			}
		}
		all = append(all, b)
	}
	return all
}

// Text writes the title, if there is one.
func (t *Title) Text(p *text.Writer) {
	if t.Name == "" {
		return
	}
	p.Title(t.Name, t.Size, t.Verdict, t.Tone.Style())
	if t.Headline != "" {
		p.Blank()
		p.Text(text.Bold, 0, t.Headline)
		if t.Summary != "" || len(t.Notes) > 0 {
			p.Blank()
		}
	}
	for _, s := range append([]Paragraph{{Words: t.Summary}}, t.Notes...) {
		if s.Words != "" {
			p.Text(s.Tone.Style(), 2, s.Words)
		}
	}
}

// HTML writes the title.
func (t *Title) HTML(p *html.Writer) {
	paragraph := func(class string, of html.Part) html.Part { return html.El("p", html.Class(class), of) }
	p.Put(html.El("header", html.Newline,
		html.El("div", html.El("h1", html.Text(t.Name)),
			html.If(t.Headline != "", paragraph("headline", html.El("b", html.Text(t.Headline)))),
			html.If(t.Summary != "", paragraph("summary", html.Text(t.Summary))),
			html.Each(t.Notes, func(n Paragraph) html.Part {
				return paragraph("summary "+n.Tone.Class(), html.Text(n.Words))
			})), html.Newline,
		html.El("div", html.Class("standing "+t.Tone.Class()), html.Text(t.Verdict),
			html.El("small", html.Text(t.Size))), html.Newline), html.Newline)
}

// JSON returns the document as one JSON object, followed by a newline.
func (d *Document) JSON(command string) ([]byte, error) {
	if h, ok := d.Data.(headed); ok {
		h.setHead(Head{schemaName, command})
	}
	return Encode(d.Data)
}

// TextOptions describes the user's terminal and says how much to write.
type TextOptions struct {
	Width int  // in terminal cells; 0 means 80, and less than 60 means 60
	Color bool // whether to use ANSI escapes for bold, red, green and yellow
	All   bool // whether to write also the blocks of type More and everything that does not fit on a screen
}

// Writer returns a writer to w that also records whether the text mentions the probe (see ProbeIs).
func (o TextOptions) Writer(w io.Writer) *text.Writer {
	width := o.Width
	if width == 0 {
		width = 80
	}
	p := text.New(w, max(width, 60), o.Color)
	p.Watch(string(history.Probe))
	return p
}
