package compare

import (
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Report is the report of a comparison.
type Report struct {
	*Comparison
	Files  string // folder with each cell's scenario; empty if the scenarios were not requested
	Repeat string // command that repeats the comparison
}

// Document returns the report: what each lock survives, how long it takes, and the assumptions.
func (r *Report) Document() *document.Document {
	survival, timing := r.survivalTable(), r.timingTable()
	var locks document.Facts
	for i := range r.Locks {
		locks = append(locks, document.Fact{Name: r.Locks[i].Title, Value: r.Locks[i].Text})
	}
	takes := []document.Block{timing, document.InText{Block: timing.Key()}}
	for _, sentence := range r.Model {
		takes = append(takes, document.Paragraph{Words: sentence})
	}
	notes := []document.Block{document.Paragraph{Words: r.repeatCommand()}}
	if list := append(r.absent(), r.uneven()...); len(list) > 0 {
		notes = append([]document.Block{list}, notes...)
	}
	return &document.Document{
		Title: document.Title{Name: "Locks compared", Size: text.Count(r.Seeds, "seed"),
			Summary: "The same work and the same faults for every lock."},
		Body: []document.Block{
			document.Section{Heading: "What survives", Body: []document.Block{survival,
				document.InText{Block: survival.Key()}, signs, document.InText{Block: locks}}},
			document.Section{Heading: "What it takes", Body: takes},
			document.Section{Heading: "Notes", Body: notes},
		},
		Interrupted: r.Interrupted, Files: r.Files, Repeat: r.Repeat, Data: r.data(), Suite: r.suite(),
	}
}

// signs explains the marks used in the report.
var signs = document.Facts{
	{Name: "✓ ✗ ± ? –", Value: "held in every run; broken in every run; broken in some runs; " +
		"never broken, but undecided or unchecked in some runs; not tried"},
	{Name: "survived", Value: fmt.Sprintf("%s held in every run. "+
		"Its mark is the first in each cell, and the only colored one", checker.ResourceSafety)},
	{Name: "with fencing", Value: "the resource refuses a fencing token lower than the highest it has seen. " +
		"A lock without this row issues no tokens"},
}

// repeatCommand says how to repeat a table cell's runs.
func (r *Report) repeatCommand() string {
	call := fmt.Sprintf("fencepost run FILE --seeds %d", r.Seeds)
	if r.Files == "" {
		return fmt.Sprintf("To get the scenario of each cell, use --out DIR; then repeat its runs with: %s", call)
	}
	return fmt.Sprintf("%s contains a scenario for each cell, which expects the outcome shown here. %s repeats it",
		r.Files, call)
}

// suite returns a test case for each cell in the survival table. A comparison does not judge anything, so no case
// passes or fails.
func (r *Report) suite() document.Suite {
	s := document.Suite{Name: "compare", Repeat: r.Repeat, Cases: document.InterruptedCases("compare", r.Interrupted)}
	for _, l := range r.Locks {
		for _, cell := range l.Survival {
			if cell.Absent == "" {
				data := cell.Laws.Of(checker.ResourceSafety)
				s.Cases = append(s.Cases, document.Case{Group: l.Name, Name: cell.Scenario.Name,
					Message: fmt.Sprintf("only compared, not checked: the data was safe in %d of %d runs", data.Holds,
						r.Seeds-data.NotRun)})
			}
		}
	}
	return s
}
