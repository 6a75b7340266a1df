package scoreboard

import (
	"fmt"
	"path"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// Document returns a page for a web site: the table with all rows, and a section for each row.
func (b *Board) Document() *document.Document {
	runs := 0
	table := document.Table{Heading: "library", Columns: []document.Column{{Title: "version", Words: true},
		{Title: "schedules", Words: true}}}
	for _, f := range Families {
		table.Columns = append(table.Columns, document.Column{Title: f.Name, Words: true})
	}
	table.Columns = append(table.Columns, document.Column{Title: "real", Words: true})
	var sections []document.Block
	for i := range b.entries {
		e := &b.entries[i]
		row := document.Row{Name: e.Name, Link: e.Name, Group: e.Language,
			Cells: document.Cells(e.shown(), strings.TrimSpace(e.schedules()))}
		for _, f := range Families {
			row.Cells = append(row.Cells, document.Cell{Words: e.marks(f.Name)})
		}
		row.Cells = append(row.Cells, document.Cell{Words: e.realMarks()})
		if e.result != nil {
			runs += e.result.runs()
		}
		table.Rows = append(table.Rows, row)
		sections = append(sections, e.section())
	}
	var key document.Facts
	for _, l := range legend {
		key = append(key, document.Fact{Name: l.letter, Value: l.words})
	}
	for _, f := range Families {
		key = append(key, document.Fact{Name: f.Name, Value: f.words})
	}
	body := []document.Block{
		document.Section{Heading: "What broke under which faults", Body: []document.Block{key,
			document.Paragraph{Words: oneLine(introduction)}, table}},
		document.Section{Heading: "How the libraries were run", Body: []document.Block{
			document.Paragraph{Words: oneLine(method)}}},
		document.Section{Heading: "Correct a row", Body: []document.Block{
			document.Paragraph{Words: oneLine(correction)}}},
	}
	return &document.Document{Title: document.Title{Name: title, Size: fmt.Sprintf("%d rows", len(b.entries)),
		Summary: "What " + text.Grouped(runs) + " random schedules of faults have shown."},
		Body: append(body, sections...)}
}

// oneLine joins the lines of a text into one.
func oneLine(words string) string { return strings.Join(strings.Fields(words), " ") }

// section returns the section about a scoreboard row (a library in one configuration).
func (e *entry) section() document.Section {
	s := document.Section{Heading: e.Language + ": " + e.Name, Anchor: e.Name, Body: []document.Block{e.facts()}}
	if e.result != nil {
		for i := range e.result.Findings {
			s.Body = append(s.Body, e.blocks(&e.result.Findings[i])...)
		}
		s.Body = append(s.Body, e.calls())
	}
	for n, a := range e.Aimed {
		words := string(a.Law) + ", " + a.Cause + ", with a fault that was placed by hand. " + oneLine(a.Text)
		s.Body = append(s.Body, document.Paragraph{Words: words}, document.PlanOf([]string{a.Fault}))
		s.Body = append(s.Body, document.Command(e.runAimed(n)))
		file, _ := e.AimedScenario(n)
		s.Body = append(s.Body, e.onReal(a.Law, a.Cause, file)...)
	}
	if e.ofGo {
		s.Body = append(s.Body, document.Paragraph{Words: "What each finding is due to, " +
			"and the lines that explain it: " +
			path.Join("scenarios/scoreboard", e.page)})
	}
	if e.ofGo || e.Client != "" {
		s.Body = append(s.Body, document.Paragraph{Words: "Run this row again:"}, document.Command(e.command))
	}
	return s
}

// blocks returns the blocks that describe one finding in a scoreboard row's section.
func (e *entry) blocks(f *Finding) []document.Block {
	words := string(f.Law) + ", " + f.Cause + ". " + f.Headline
	if x := e.explanation(f); x != nil {
		words += " " + oneLine(x.Text)
	}
	if seen := e.result.found(f); seen != "" {
		words += " Schedules that showed it: " + seen + "."
	}
	return append([]document.Block{document.Paragraph{Words: strings.TrimSpace(words)}, document.PlanOf(f.Plan),
		document.Command(e.replay(f))}, e.onReal(f.Law, f.Cause, path.Join(f.Folder, search.ScenarioFile))...)
}

// onReal returns the blocks that say whether a violation also occurred on a real server. It returns nil if this was not
// tried.
func (e *entry) onReal(law checker.Law, cause, file string) []document.Block {
	r := e.real(law, cause)
	if r == nil {
		return nil
	}
	return []document.Block{document.Paragraph{Words: oneLine(r.words())}, document.Command(e.live(file))}
}

// calls lists, for each family of faults, how close the row's runs came to breaking the laws that none of them broke.
func (e *entry) calls() (all document.Facts) {
	for _, o := range e.result.Outcomes {
		for _, c := range o.Closest {
			all = append(all, document.Fact{Name: "closest, " + o.Family,
				Value: fmt.Sprintf("%s, seed %d: %s", c.Law, c.Seed, c.Words)})
		}
	}
	return all
}
