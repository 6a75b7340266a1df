package single

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/report"
)

// Pages are the report of the run, and what porcupine draws of each lock.
func (r *Run) Pages(path string) (all []report.Page) {
	var links []report.Link
	names := report.FileNames{}
	for _, e := range checker.Evidence(r.Recorded()) {
		name := names.Of(string(e.Lock))
		for _, view := range []struct {
			what string
			show func(io.Writer) error
			has  bool
		}{
			{"sections", e.Mutex.WriteHTML, e.Mutex != nil},
			{"writes", e.Data.WriteHTML, e.Data != nil},
		} {
			if !view.has {
				continue
			}
			at := report.Beside(path, fmt.Sprintf("-%s-%s.html", name, view.what))
			all = append(all, report.Page{Path: at, Write: view.show})
			links = append(links,
				report.Link{Text: fmt.Sprintf("porcupine: %s of %q", view.what, e.Lock), Href: filepath.Base(at)})
		}
	}
	return append(all, report.Page{Path: path, Write: func(w io.Writer) error { return r.HTML(w, links) }})
}
