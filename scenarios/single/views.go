package single

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/reports/timeline"
)

// view is porcupine's own drawing of how it checked one lock for one law.
type view struct {
	words, slug string
	law         checker.Law
	lock        history.Lock
}

// mostViews is the maximum number of locks for which a report contains porcupine's views.
const mostViews = 12

// views is the part of a report that links to porcupine's views.
type views struct {
	run         *Run
	all         []view // set by attached
	locks, more int    // number of locks with views, and number of locks without
}

// attached creates porcupine's views of the locks. If there are more than mostViews locks, it prefers those for which
// breaches were found.
func (v *views) attached() (all []document.Attached) {
	var about []history.Lock
	for b := range v.run.Verdict.Breaches() {
		about = append(about, b.Lock)
	}
	evidence, more := checker.Evidence(v.run.Recorded(), mostViews, about...)
	v.all, v.locks, v.more = nil, len(evidence), more
	names := document.FileNames{}
	for _, e := range evidence {
		name, sections := names.Of(string(e.Lock)), "sections"
		if e.Refuted() {
			sections = "refuted sections"
		}
		add := func(file, what string, law checker.Law, a document.Attached) {
			a.Slug = name + "-" + file
			all = append(all, a)
			v.all = append(v.all, view{fmt.Sprintf("porcupine: %s of %q", what, e.Lock), a.Slug, law, e.Lock})
		}
		if e.Mutex != nil {
			add("sections", sections, checker.MutualExclusion, document.Attached{Foreign: e.Mutex.WriteHTML})
		}
		if e.Data != nil {
			add("writes", "writes", checker.ResourceSafety, document.Attached{Foreign: e.Data.WriteHTML})
		}
	}
	return all
}

// of returns the link from a page to the view for a finding: the view of the finding's lock, or of any lock if the
// finding names none. It returns "" if there is no such view.
func (v *views) of(p *html.Writer, f *checker.Finding) string {
	i := slices.IndexFunc(v.all, func(w view) bool {
		return f.Judges != (checker.Judges{}) && w.law == f.Law && (f.Lock == "" || w.lock == f.Lock)
	})
	if i < 0 {
		return ""
	}
	return p.Beside(v.all[i].slug)
}

// leftOut says how many locks have no views.
func (v *views) leftOut() (notes []string) {
	if v.more == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Porcupine's views show only %s; those of %d more are left out.",
		text.Count(v.locks, "lock"), v.more)}
}

// Text writes nothing.
func (v *views) Text(*text.Writer) {}

// HTML writes the links.
func (v *views) HTML(p *html.Writer) {
	if len(v.all) > 0 {
		links := make(document.Links, len(v.all))
		for i, w := range v.all {
			links[i].Words, links[i].Slug = w.words, w.slug
		}
		p.Put(html.Heading("More"))
		links.HTML(p)
	}
	for _, words := range v.leftOut() {
		p.Put(html.Note("", words))
	}
}

// leftOut is the part of the text that says what the page omits. It must be written after the views have been created.
type leftOut struct {
	views   *views
	picture *timeline.Timeline
}

// Text writes a line for each item.
func (b leftOut) Text(p *text.Writer) {
	document.Notes("page", slices.Concat(b.views.leftOut(), b.picture.LeftOut())).Text(p)
}

// HTML writes nothing.
func (leftOut) HTML(*html.Writer) {}
