package html

import (
	"bytes"
	"html/template"
	"io"
	"strings"
)

// Writer makes a page of what is shown one after the other. It keeps the first error.
type Writer struct {
	frame Frame
	body  bytes.Buffer
	err   error
}

// NewWriter begins a page.
func NewWriter(title string) *Writer {
	frame, err := New(title)
	return &Writer{frame: frame, err: err}
}

// Show shows data by the template of that name.
func (p *Writer) Show(name string, data any) {
	if p.err == nil {
		p.err = templates().ExecuteTemplate(&p.body, name, data)
	}
}

// Put shows markup as it is.
func (p *Writer) Put(markup template.HTML) { p.body.WriteString(string(markup)) }

// Card shows on a card of its own, under a heading that may be empty, what show shows.
func (p *Writer) Card(heading string, show func()) {
	p.Put(`<section class="card">`)
	if heading != "" {
		p.Show("heading", heading)
	}
	show()
	p.Put("</section>\n")
}

// Style adds a style sheet, which is a file of this folder, unless the page has it.
func (p *Writer) Style(name string) {
	sheet, err := files.ReadFile(name)
	if p.err == nil {
		p.err = err
	}
	if !strings.Contains(string(p.frame.Style), string(sheet)) {
		p.frame.Style += template.CSS(sheet)
	}
}

// Script adds a script.
func (p *Writer) Script(script template.JS) { p.frame.Script += script }

// Fail ends the page with an error, unless it has one.
func (p *Writer) Fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// WriteDocument writes the page. The error is w's, or that data lacked what a template shows.
func (p *Writer) WriteDocument(w io.Writer) error {
	if p.err != nil {
		return p.err
	}
	return Write(w, "document.html", struct {
		Frame
		Body template.HTML
	}{p.frame, template.HTML(p.body.String())})
}
