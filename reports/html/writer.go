package html

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// Writer makes a page of what is shown one after the other.
type Writer struct {
	frame frame
	path  string
	body  strings.Builder
}

// NewWriter begins a page, which will be a file with the given path.
func NewWriter(title, path string) *Writer { return &Writer{frame: newFrame(title), path: path} }

// Beside is the path of a page beside another one. The slug ends its name, before the extension.
func Beside(path, slug string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + "-" + slug + ".html"
}

// Beside is the address that leads from this page to one beside it.
func (p *Writer) Beside(slug string) string {
	return (&url.URL{Path: filepath.Base(Beside(p.path, slug))}).String()
}

// Mentions reports whether what is shown so far has a word in it, be it the first of its sentence.
func (p *Writer) Mentions(word string) bool {
	shown := p.body.String()
	return strings.Contains(shown, word) || strings.Contains(shown, strings.ToUpper(word[:1])+word[1:])
}

// Put shows parts.
func (p *Writer) Put(parts ...Part) { p.body.WriteString(render(parts...)) }

// Card shows on a card of its own, under a heading that may be empty, what show shows.
func (p *Writer) Card(heading string, show func()) {
	p.Inside("section", "card", func() {
		p.Put(If(heading != "", Heading(heading)))
		show()
	})
}

// Inside shows in an element of that class what show shows.
func (p *Writer) Inside(name, class string, show func()) {
	p.Put(Raw("<" + name + ` class="` + class + `">`))
	show()
	p.Put(Raw("</"+name+">"), Newline)
}

// Style adds a style sheet, unless the page has it.
func (p *Writer) Style(sheet string) {
	if !strings.Contains(p.frame.style, sheet) {
		p.frame.style += sheet
	}
}

// Script adds a script, unless the page has it.
func (p *Writer) Script(script string) {
	if !strings.Contains(p.frame.script, script) {
		p.frame.script += script
	}
}

// Body is what was shown, without the frame around it.
func (p *Writer) Body() string { return p.body.String() }

// WriteDocument writes the page. The error is w's.
func (p *Writer) WriteDocument(w io.Writer) error {
	return protect(w, p.frame.around(All(El("main", Newline, Raw(p.Body())), Newline)), "")
}
