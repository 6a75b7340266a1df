package document

import (
	"cmp"
	"io"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/html"
)

// Pages returns all of the document's pages. The attached pages come first. The main page, which has the given path and
// links to the others, comes last.
func (d *Document) Pages(path string) (all []Page) {
	var beside []Attached
	if d.Beside != nil {
		beside = d.Beside()
	}
	for _, a := range beside {
		at := html.Beside(path, a.Slug)
		if a.Document == nil {
			all = append(all, Page{at, func(w io.Writer) error { return html.Protect(w, a.Foreign) }})
			continue
		}
		all = append(all, a.Pages(at)...)
	}
	return append(all, Page{path, func(w io.Writer) error { return d.HTML(w, path) }})
}

// HTML writes the document as a self-contained page. path is the page file's path. Errors come from w.
func (d *Document) HTML(w io.Writer, path string) error {
	title := d.Name
	if d.Size != "" {
		title += ", " + d.Size
	}
	if says := cmp.Or(d.Verdict, d.Headline); says != "" {
		title += ": " + says
	}
	p := html.NewWriter(title, path)
	d.body(p)
	return p.WriteDocument(w)
}

// Fragment returns the document's markup for use inside another page, without head and body elements.
func (d *Document) Fragment() string {
	p := html.NewWriter(d.Name, "")
	d.body(p)
	return p.Body()
}

func (d *Document) body(p *html.Writer) {
	if d.Name != "" {
		d.Title.HTML(p)
	}
	for _, b := range d.Body {
		b.HTML(p)
	}
	if p.Mentions(string(history.Probe)) {
		p.Put(html.Note("The probe", "is "+ProbeIs+"."))
	}
	if d.Interrupted {
		Section{Body: []Block{Notes("stopped", []string{Interruption})}}.HTML(p)
	}
	if d.Repeat != "" {
		Section{Heading: "Again", Body: []Block{Command(d.Repeat)}}.HTML(p)
	}
}
