// Package reports says what came of explore, verify and run with many seeds, and lists the catalogue. Each has a file
// for its text and one for each other form (explore.go, explore_html.go, explore_json.go); its page's template is in
// reports/html.
//
// Goals: what came out stands first, then how sure it is, then what shows it; the same result gives the same bytes.
// Non-goals: one run (single); a sweep (sweep), a comparison (compared), advice and the corpus (hunted), which have
// rooms of their own; layout (term), pictures (timeline), and the results themselves, which it takes as the rooms of
// scenarios give them.
package reports

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Pages are the page of many runs, and those of each run worth showing.
func (m *Many) Pages(path string) (all []document.Page) {
	shown := m.Shown
	if m.Sample != nil {
		shown = []*single.Run{m.Sample}
	}
	var links []document.Link
	for _, run := range shown {
		at := document.Beside(path, fmt.Sprintf("-seed-%d.html", run.Seed))
		all = append(all, run.Document().Pages(at)...)
		links = append(links, document.Link{Text: fmt.Sprintf("seed %d: timeline, witness and metrics", run.Seed),
			Href: filepath.Base(at)})
	}
	return append(all, document.Page{Path: path, Write: func(w io.Writer) error { return m.html(w, links) }})
}

// Pages are the page of the exploration, and one for each finding.
func (e *Exploration) Pages(path string) (all []document.Page) {
	var others []string
	for i := range e.Findings {
		f := &e.Findings[i]
		at := document.Beside(path, "-"+f.Slug()+".html")
		all = append(all, document.Page{Path: at, Write: func(w io.Writer) error { return f.Run.Document().HTML(w, at) }})
		others = append(others, filepath.Base(at))
	}
	return append(all, document.Page{Path: path, Write: func(w io.Writer) error { return e.html(w, others) }})
}

// Slug names the files of a finding: "mutual-exclusion-holder-outlived-its-lease-pause".
func (f *ExploredFinding) Slug() string {
	words := strings.FieldsFunc(fmt.Sprintf("%s %s", f.Law, f.Cause), func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r)
	})
	return strings.Join(words, "-")
}

// Pages is the one page of the verification.
func (v *Verification) Pages(path string) []document.Page {
	return []document.Page{{Path: path, Write: v.html}}
}
