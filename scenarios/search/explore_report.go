package search

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/reports/timeline"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Report contains everything that is reported about an exploration.
type Report struct {
	*Result
	Subject     *scenarios.Scenario
	Findings    []ReducedFinding
	Unrepeated  []UnrepeatedFinding
	Interrupted bool   // a signal ended the search or the shrinking of its findings
	Files       string // folder with the files of all findings
	Repeat      string // shell command that repeats or resumes the exploration
	// Replay returns a shell command that repeats the run with a plan file in Files. It may be nil if Files is empty.
	Replay func(plan string) string
}

// ReducedFinding is one way in which a law was broken, with the smallest plan found that still breaks the law in this
// way.
type ReducedFinding struct {
	campaign.Finding
	Promised bool
	Small    *Shrunk
	Run      *single.Run // the run of the smallest plan
	Files    []string    // files in the folder of Run (see Shrunk.Files); running any of them fails again
}

// UnrepeatedFinding is a violation that did not recur when its run was repeated.
type UnrepeatedFinding struct {
	campaign.Finding
	Why string // see UnrepeatedError
}

// String describes the finding in a sentence without a final period.
func (f UnrepeatedFinding) String() string {
	return fmt.Sprintf("%s: %s, in %s from seed %d, "+
		"cannot be shown: %s, "+
		"so the client's code is not deterministic", f.Law, f.Cause, text.CountGrouped(f.Runs, "run"), f.First, f.Why)
}

// Slug returns the base name of a finding's files, such as "mutual-exclusion-holder-outlived-its-lease-pause".
func Slug(f campaign.Finding) string {
	words := strings.FieldsFunc(fmt.Sprintf("%s %s", f.Law, f.Cause), func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r)
	})
	return strings.Join(words, "-")
}

// interrupted reports whether a signal interrupted the shrinking of the finding.
func (f *ReducedFinding) interrupted() bool { return f.Small.Ending == campaign.Interrupted }

// Document builds the report. The first part takes up about one screen. It shows the result for each law, and what
// broke the laws, grouped by plan. The second part shows the faults that struck, and each finding in full.
func (r *Report) Document() *document.Document {
	result, open := r.Standing(r.Subject)
	reasons := document.Notes("reason", append(open, r.Failed.furtherLines()...))
	notes := document.Notes("note", r.notes())
	groups := r.byPlan()
	d := &document.Document{
		Title: document.Title{Name: r.Scenario, Size: r.size("random plan"), Tone: result.Tone(),
			Verdict: document.Standing{Result: result, Promise: true}.Words(), Summary: r.Subject.Summary},
		Body: []document.Block{document.Section{Body: []document.Block{r.Laws.RateTable(r.Subject.Promise),
			document.OnPage{Block: reasons}, document.OnPage{Block: notes}}},
			groups,
			r.closest(),
			document.InText{Block: slices.Concat(r.struck(), reasons, notes, r.fullTextHint())},
			document.More{Block: document.Section{Heading: "What struck",
				Body: []document.Block{r.faultTable()}}}},
		Interrupted: r.Interrupted, Files: r.Files, Repeat: r.Repeat, Data: r.data(), Suite: r.suite(),
		Beside: r.pages,
	}
	for i, g := range groups {
		for k, f := range g {
			d.Body = append(d.Body, document.More{Block: inFull{f, i+k == 0}})
		}
	}
	return d
}

// notes returns the reasons why the exploration shows less than its numbers suggest, and the violations that cannot be
// shown.
func (r *Report) notes() (all []string) {
	for _, f := range r.Unrepeated {
		all = append(all, f.String())
	}
	all = append(all, r.caveats()...)
	if r.Subject != nil && r.Subject.OfPrograms() && r.Undecided > 0 {
		all = append(all, "if a client ended before it finished its work, "+
			"a law that holds in that run counts as undecided")
	}
	return all
}

// pages returns the pages about the runs with findings.
func (r *Report) pages() (all []document.Attached) {
	for _, f := range r.Findings {
		all = append(all, document.Attached{Slug: Slug(f.Finding), Document: f.Run.Document()})
	}
	return all
}

// size returns a phrase such as "1,000 random plans from 1": the number of seeds that were run, the given noun, the
// first seed, and the shard if there is one.
func (s *Span) size(of string) string {
	size := fmt.Sprintf("%s from %d", text.CountGrouped(s.Done(), of), s.own().First)
	if s.Shard != Whole {
		size += ", shard " + s.Shard.String()
	}
	return size
}

// closest describes the closest call for each law that no run violated, and says how to view the first of them.
func (r *Report) closest() document.Facts {
	calls := r.Closest.Whole(r.Laws)
	facts := calls.Facts()
	if len(calls) > 0 && r.Files != "" {
		facts = append(facts, document.Fact{Name: "see it", Command: true,
			Value: r.Replay(filepath.Join(r.Files, calls[0].File()))})
	}
	return facts
}

// struck says how many of the randomly drawn faults struck while the lock was in use.
func (r *Report) struck() document.Facts {
	all := r.allFaults()
	if all.Drawn == 0 {
		return nil
	}
	facts := document.Facts{{Name: "faults", Value: fmt.Sprintf("%s drawn, of which %s (%s) struck %s",
		text.Grouped(all.Drawn), text.Grouped(all.Met), share(all), campaign.WhileHeld)}}
	if kinds := r.Subject.Mix.Additions(); len(kinds) > 0 {
		drawn := fmt.Sprintf("%s: drawn only because the mix asks for them", strings.Join(document.Texts(kinds), ", "))
		facts = append(facts, document.Fact{Name: "among them", Value: drawn})
	}
	return facts
}

// fullTextHint returns a note that tells the user how to get the full description of each finding.
func (r *Report) fullTextHint() document.Facts {
	if len(r.Findings) == 0 {
		return nil
	}
	return document.Facts{{Name: "each",
		Value: "for the full report with its timeline, run the command that is shown below a finding, or use --all"}}
}

// share returns the percentage of the randomly drawn faults that struck while the lock was being held or requested. It
// returns "" if no fault was drawn.
func share(f campaign.Fault) string {
	if f.Drawn == 0 {
		return ""
	}
	return strconv.Itoa(100*f.Met/f.Drawn) + "%"
}

// metColumn is the table column that shows how many faults struck while the lock was held or requested.
var metColumn = document.Column{Title: "while held or requested", Tip: "struck " + campaign.WhileHeld}

// faultTable shows how many faults of each kind were drawn and how many of them struck.
func (r *Report) faultTable() document.Table {
	t := document.Table{Heading: "fault", Columns: []document.Column{{Title: "drawn"}, {Title: "struck"}, metColumn,
		{Title: "share"}}}
	add := func(name string, f campaign.Fault) {
		t.Rows = append(t.Rows, document.Row{Name: name, Cells: document.Cells(text.Grouped(f.Drawn),
			text.Grouped(f.Struck), text.Grouped(f.Met), share(f))})
	}
	for _, f := range r.Faults {
		if f.Drawn > 0 {
			add(f.Kind.String(), f)
		}
	}
	add("all", r.allFaults())
	return t
}

// inFull is a block that shows a finding in full detail, optionally with a timeline. It appears only in text output.
type inFull struct {
	*ReducedFinding
	timeline bool
}

// Text writes the finding.
func (b inFull) Text(p *text.Writer) {
	tone := document.Bad
	if !b.Promised {
		tone = document.Plain
	}
	title := document.Title{Name: b.violation(), Verdict: b.promise(), Tone: tone, Summary: b.size()}
	title.Text(p)
	p.Blank()
	picture := timeline.New(b.Run.Lanes)
	if b.timeline {
		picture.Text(p)
		p.Blank()
	}
	if f := b.verdict(); f != nil {
		picture.Story(*f).Text(p)
		p.Blank()
	}
	document.PlanOf(b.Run.Plan).Text(p)
	files := ""
	if b.Run.Files != "" {
		files = strings.Join(append([]string{b.Run.Files + ":"}, b.Files...), " ")
	}
	document.Closing(p, files, b.Run.Repeat)
}

// HTML does not write anything, because the finding has its own page.
func (inFull) HTML(*html.Writer) {}

// violation names the law and how it was broken.
func (f *ReducedFinding) violation() string { return string(f.Law) + ": " + f.Cause.String() }

// promise says whether the scenario promises the law.
func (f *ReducedFinding) promise() string {
	if f.Promised {
		return single.Promised.String()
	}
	return document.NotPromised
}

// size says in how many runs the violation was found, and how far the plan was shrunk.
func (f *ReducedFinding) size() string {
	how := "no more runs were allowed"
	switch {
	case f.interrupted():
		how = "shrinking was interrupted"
	case f.Small.Ending == campaign.Complete:
		how = "nothing more can be removed or simplified"
	}
	return fmt.Sprintf("In %s, first with seed %d. Shrunk from %s to %s in %s: %s. %d of 16 seeds show the violation.",
		text.CountGrouped(f.Runs, "run"),
		f.First, text.Count(len(f.Small.First.Faults), "fault"), text.Count(len(f.Run.Plan), "fault"),
		text.CountGrouped(f.Small.Runs, "run"), how, f.Small.Often)
}

// suite returns one test case per law, and one for each reason why the result is undecided.
func (r *Report) suite() document.Suite {
	s := document.Suite{Name: "explore " + r.Scenario, Repeat: r.Repeat}
	standing, open := r.Standing(r.Subject)
	for _, l := range r.Laws {
		c := document.Case{Group: r.Scenario, Name: string(l.Law), Result: document.Passed,
			Message: fmt.Sprintf("kept in %d runs", l.Holds)}
		broken := fmt.Sprintf("broken in %d of %d runs", l.Violated, l.Exercised())
		switch {
		case l.Violated > 0 && (l.Breaks() == 0 || !slices.Contains(r.Subject.Promise.Laws, l.Law)):
			c.Message = document.NotPromised + "; " + broken
		case l.Violated > 0:
			c.Result, c.Message, c.Story = document.Failed, broken, r.stories(l.Law)
		case l.Holds == 0 && l.Undecided > 0:
			c.Result, c.Message = document.NotJudged, "no run decided it"
		case l.Holds == 0:
			c.Result, c.Message = document.NotJudged, "no run exercised it"
		default:
			c.Story = r.Closest.describe(l.Law)
		}
		if l.Undecided > 0 {
			c.Message += fmt.Sprintf("; undecided in %d of %d runs", l.Undecided, r.Done())
		}
		s.Cases = append(s.Cases, c)
	}
	s.Cases = append(s.Cases, document.OpenCases(r.Scenario, open)...)
	// If the exploration passed, all seeds were run, so only the shrinking of findings about unpromised laws can have
	// been interrupted.
	if standing != document.Passed {
		s.Cases = append(s.Cases, document.InterruptedCases(r.Scenario, r.Interrupted)...)
	}
	return s
}

// stories describes all ways in which the given law was broken.
func (r *Report) stories(law checker.Law) string {
	var all []string
	for _, f := range r.Findings {
		if f.Law == law {
			all = append(all, fmt.Sprintf("%s, in %d runs, first with seed %d\n%s", f.Cause, f.Runs, f.First,
				f.Run.Story(string(law))))
		}
	}
	for _, f := range r.Unrepeated {
		if f.Law == law {
			all = append(all, f.String())
		}
	}
	return strings.Join(all, "\n\n")
}
