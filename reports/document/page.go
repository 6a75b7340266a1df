package document

import (
	"cmp"
	"io"

	"github.com/fencepost-sim/fencepost/reports/html"
)

// Pages are the page with the given path, the last, and those that lie beside it, to which it leads.
func (d *Document) Pages(path string) (all []Page) {
	for _, a := range d.Beside {
		all = append(all, a.Pages(Beside(path, "-"+a.Slug+".html"))...)
	}
	return append(all, Page{path, d.HTML})
}

// HTML writes the document as one self-contained page. The error is w's.
func (d *Document) HTML(w io.Writer) error {
	title := d.Name
	if d.Size != "" {
		title += ", " + d.Size
	}
	if says := cmp.Or(d.Verdict, d.Headline); says != "" {
		title += ": " + says
	}
	p := html.NewWriter(title)
	p.Show("title", d.Title)
	for _, b := range d.Body {
		b.HTML(p)
	}
	if d.Interrupted {
		Section{Body: []Block{Notes("stopped", []string{Interruption})}}.HTML(p)
	}
	if d.Repeat != "" {
		Section{"Again", []Block{Command(d.Repeat)}}.HTML(p)
	}
	return p.WriteDocument(w)
}
