package single

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// View leads from the report of a run to porcupine's own view of what it judged.
type View struct {
	document.Link
	Law  checker.Law
	Lock history.Lock
}

// shows reports whether the view is of what a judge of the finding saw: of the lock that the finding is about, or where
// it is about none, of any.
func (v *View) shows(f *checker.Finding) bool {
	return f.Judges != (checker.Judges{}) && v.Law == f.Law && (f.Lock == "" || v.Lock == f.Lock)
}

// mostViews is of how many locks porcupine's views lie beside a report.
const mostViews = 12

// Pages are the report of the run, and what porcupine draws of the locks, or where these are many, of those that its
// findings are about and of some others.
func (r *Run) Pages(path string) (all []document.Page) {
	var views []View
	var about []history.Lock
	for i := range r.Verdict.Findings {
		about = append(about, r.Verdict.Findings[i].Lock)
	}
	evidence, left := checker.Evidence(r.Recorded(), mostViews, about...)
	if r.unseen = nil; left > 0 {
		r.unseen = append(r.unseen, fmt.Sprintf("Porcupine's views are of %s; those of %d more are left out.",
			text.Count(len(evidence), "lock"), left))
	}
	names := document.FileNames{}
	for _, e := range evidence {
		name := names.Of(string(e.Lock))
		sections := "sections"
		if e.Refuted() {
			sections = "refuted sections"
		}
		for _, view := range []struct {
			file, what string
			law        checker.Law
			show       func(io.Writer) error
			has        bool
		}{
			{"sections", sections, checker.MutualExclusion, e.Mutex.WriteHTML, e.Mutex != nil},
			{"writes", "writes", checker.ResourceSafety, e.Data.WriteHTML, e.Data != nil},
		} {
			if !view.has {
				continue
			}
			at := document.Beside(path, fmt.Sprintf("-%s-%s.html", name, view.file))
			all = append(all, document.Page{Path: at, Write: func(w io.Writer) error {
				return html.Protect(w, view.show)
			}})
			words := fmt.Sprintf("porcupine: %s of %q", view.what, e.Lock)
			views = append(views, View{document.Link{Text: words, Href: filepath.Base(at)}, view.law, e.Lock})
		}
	}
	return append(all, document.Page{Path: path, Write: func(w io.Writer) error { return r.HTML(w, views) }})
}
