package single

import (
	"html/template"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/reports/timeline"
)

// Opening is what a report of many runs begins with.
type Opening struct {
	Name, What, Words string
	Tone              document.Tone
	Headline          string
	Summary           string // of the scenario; may be empty
	Intent            string // may be empty
	OK                bool   // it is as expected
	Idle              string // which faults can have had no effect; empty if all can
}

// Write writes it.
func (o Opening) Write(p *text.Writer) {
	t := document.Title{Name: o.Name, Size: o.What, Verdict: o.Words, Tone: o.Tone, Headline: o.Headline,
		Summary: o.Summary, Notes: OpeningNotes(o.Intent, o.OK, o.Idle)}
	t.Text(p)
}

// Page is what a page shows of which the run is a part.
type Page struct {
	Run      *Run
	Plan     document.Plan
	Timeline template.HTML
	Stories  []document.Block
}

// NewPage fills in what a page shows of which the run is a part.
func NewPage(run *Run) (*Page, error) {
	d := &Page{Run: run, Plan: run.plan(), Stories: run.stories(timeline.New(run.Lanes))}
	var err error
	d.Timeline, err = run.Lanes().Chart().HTML()
	return d, err
}

// Violation writes the story of one violated law.
func Violation(p *text.Writer, run *Run, f *checker.Finding) {
	timeline.New(run.Lanes).Story(*f).Text(p)
}
