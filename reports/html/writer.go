package html

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// Writer builds a page from parts. The parts appear on the page in the order in which they were added.
type Writer struct {
	frame frame
	path  string
	body  strings.Builder
}

// NewWriter begins a page for a file with the given path.
func NewWriter(title, path string) *Writer { return &Writer{frame: newFrame(title), path: path} }

// Beside returns the path of another page in the same folder as the page at the given path. To get the new file name,
// it adds the slug to the given one, before the extension.
func Beside(path, slug string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + "-" + slug + ".html"
}

// Beside returns the relative address of another page in the same folder, given by its slug.
func (p *Writer) Beside(slug string) string {
	return (&url.URL{Path: filepath.Base(Beside(p.path, slug))}).String()
}

// Mentions reports whether the page already contains a word. At the start of a sentence, the word may begin with a
// capital letter.
func (p *Writer) Mentions(word string) bool {
	shown := p.body.String()
	return strings.Contains(shown, word) || strings.Contains(shown, strings.ToUpper(word[:1])+word[1:])
}

// Put adds parts to the page.
func (p *Writer) Put(parts ...Part) { p.body.WriteString(render(parts...)) }

// Card adds a card with a heading, which may be empty. It calls show, which adds the card's contents.
func (p *Writer) Card(heading string, show func()) {
	p.Inside("section", "card", func() {
		p.Put(If(heading != "", Heading(heading)))
		show()
	})
}

// Inside adds an element with the given name and class. It calls show, which adds the element's contents.
func (p *Writer) Inside(name, class string, show func()) {
	p.Put(Raw("<" + name + ` class="` + class + `">`))
	show()
	p.Put(Raw("</"+name+">"), Newline)
}

// Style adds a style sheet, unless the page already has it.
func (p *Writer) Style(sheet string) {
	if !strings.Contains(p.frame.style, sheet) {
		p.frame.style += sheet
	}
}

// Script adds a script, unless the page already has it.
func (p *Writer) Script(script string) {
	if !strings.Contains(p.frame.script, script) {
		p.frame.script += script
	}
}

// Body returns the markup for the parts that have been added, without the frame.
func (p *Writer) Body() string { return p.body.String() }

// WriteDocument writes the whole page. It fails only if writing to w fails.
func (p *Writer) WriteDocument(w io.Writer) error {
	return protect(w, p.frame.enclose(All(El("main", Newline, Raw(p.Body())), Newline)), "")
}
