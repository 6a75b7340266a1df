package html

import (
	"bytes"
	"html/template"
	"io"
	"path/filepath"
	"strings"
)

// Writer makes a page of what is shown one after the other. It keeps the first error.
type Writer struct {
	frame frame
	path  string
	body  bytes.Buffer
	err   error
}

// NewWriter begins a page, which will be a file with the given path.
func NewWriter(title, path string) *Writer {
	frame, err := newFrame(title)
	return &Writer{frame: frame, path: path, err: err}
}

// Beside is the path of a page beside another one. The slug ends its name, before the extension.
func Beside(path, slug string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + "-" + slug + ".html"
}

// Beside is what leads from this page to one beside it.
func (p *Writer) Beside(slug string) string { return filepath.Base(Beside(p.path, slug)) }

// Mentions reports whether what is shown so far has a word in it, in small or capital letters.
func (p *Writer) Mentions(word string) bool {
	return bytes.Contains(bytes.ToLower(p.body.Bytes()), []byte(strings.ToLower(word)))
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

// Script adds a script, unless the page has it.
func (p *Writer) Script(script template.JS) {
	if !strings.Contains(string(p.frame.Script), string(script)) {
		p.frame.Script += script
	}
}

// Fail ends the page with an error, unless it has one.
func (p *Writer) Fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// Body is what was shown, without the frame around it. The error is that data lacked what a template shows.
func (p *Writer) Body() (template.HTML, error) { return template.HTML(p.body.String()), p.err }

// WriteDocument writes the page. The error is w's, or that data lacked what a template shows.
func (p *Writer) WriteDocument(w io.Writer) error {
	if p.err != nil {
		return p.err
	}
	return write(w, "document.html", struct {
		frame
		Body template.HTML
	}{p.frame, template.HTML(p.body.String())})
}
