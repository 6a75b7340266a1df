package document

import (
	"io"
	"math"

	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Document is what a command reports of its result. It is written once, by the package that made the result: text,
// page, JSON, JUnit XML and step summary are all made from it.
type Document struct {
	Title
	Body        []Block // in the order in which a reader wants to know it
	Interrupted bool    // a signal ended the work early
	Files       string  // folder with all that was found; empty if there is none
	Repeat      string  // command to paste that does it again, or goes on
	Data        any     // the JSON object: a struct that embeds Head, or a pointer to one
	Judged      Suite   // what a CI system counts
	Beside      []Attached
	Metrics     []byte // in the OpenMetrics text format; nil if there are none
}

// Title is what a document begins with.
type Title struct {
	Name     string // what it is about: "kleppmann-gc-pause"
	Size     string // how much of it: "1,000 seeds"; may be empty
	Verdict  string // in a few words; may be empty
	Tone     Tone   // of the verdict
	Headline string // what happened, in a sentence or two; may be empty
	Summary  string // what it is about, in a sentence; may be empty
}

// Attached is a document with a page of its own beside the page that leads to it.
type Attached struct {
	Slug string // ends the name of its file, before the extension: "seed-7"
	*Document
}

// Block is a part of a document, which knows how it looks on a terminal and on a page.
type Block interface {
	Text(p *text.Writer)
	HTML(p *html.Writer)
}

// Fitting is a block that takes as many lines as there are: what does not fit is left to the page and to --all.
type Fitting interface {
	Block
	// FitText writes at most room lines, if that can be.
	FitText(p *text.Writer, room int)
}

// screenLines is how many lines the text of a document with a Fitting block takes, if that can be.
const screenLines = 50

// Text writes the document for a person at a terminal. No line is wider than opt.Width. The error is w's.
func (d *Document) Text(w io.Writer, opt TextOptions) error {
	p := opt.Writer(w)
	d.Title.Text(p)
	d.texts(p, d.Body, opt.All)
	return p.Err()
}

// texts writes blocks and the ending.
func (d *Document) texts(p *text.Writer, body []Block, all bool) {
	for i, b := range body {
		if _, kept := b.(More); kept && !all {
			continue
		}
		p.Blank()
		fit, ok := b.(Fitting)
		if !ok {
			b.Text(p)
			continue
		}
		room := math.MaxInt
		if !all {
			rest := p.Draft()
			d.texts(rest, body[i+1:], all)
			room = screenLines - p.Lines() - rest.Lines()
		}
		fit.FitText(p, room)
	}
	d.ending(p)
}

func (d *Document) ending(p *text.Writer) {
	p.Blank()
	Stopped(p, d.Interrupted)
	Closing(p, d.Files, d.Repeat)
}

// Text writes the title.
func (t *Title) Text(p *text.Writer) {
	p.Title(t.Name, t.Size, t.Verdict, t.Tone.style())
	for _, s := range []struct {
		style text.Style
		words string
	}{{text.Bold, t.Headline}, {text.Plain, t.Summary}} {
		if s.words != "" {
			p.Text(s.style, 2, s.words)
		}
	}
}

// JSON gives the document as one JSON object, ended by a newline.
func (d *Document) JSON(command string) ([]byte, error) {
	if h, ok := d.Data.(headed); ok {
		h.setHead(HeadOf(command))
	}
	return Encode(d.Data)
}

// Suite is what a CI system counts.
func (d *Document) Suite() Suite { return d.Judged }

// OpenMetrics are the metrics.
func (d *Document) OpenMetrics() []byte { return d.Metrics }
