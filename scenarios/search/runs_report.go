package search

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/headline"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// RunsReport contains everything that is reported about many runs of one scenario.
type RunsReport struct {
	*Result
	Subject     *scenarios.Scenario
	Interrupted bool          // a signal ended the work before all runs were performed
	Shown       []*single.Run // runs of the seeds that Instructive returns; the text shows the first in full
	Sample      *single.Run   // a run that came out as expected; used if Shown is empty; may be nil
	Repeat      string        // shell command that performs the same runs again
}

// Instructive returns the seeds of the runs worth showing, the most instructive first. For each way in which runs
// differed from the expectation, it returns the first such run. Differences in more serious laws come first. If no run
// differed, it returns the first undecided run. If all runs came out as expected, it returns nothing.
func (r *Result) Instructive() (seeds []uint64) {
	groups := slices.Clone(r.Campaign.Groups)
	slices.SortStableFunc(groups, func(a, b format.Group) int {
		return cmp.Compare(checker.Law(a.Name).Gravity(), checker.Law(b.Name).Gravity())
	})
	for _, g := range groups {
		if !slices.Contains(seeds, g.First) {
			seeds = append(seeds, g.First)
		}
	}
	if len(seeds) == 0 && r.Campaign.Undecided > 0 {
		seeds = append(seeds, r.Campaign.FirstUndecided)
	}
	return seeds
}

// Samples yields seeds from which the caller chooses an example to show. If some runs break a law, Samples yields only
// the seed of the first run that breaks the most serious law. Otherwise, it yields all seeds, and the caller chooses
// the first one whose run can be judged.
func (r *Result) Samples() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if len(r.Findings) > 0 {
			yield(slices.MinFunc(r.Findings, func(a, b campaign.Finding) int {
				return cmp.Or(cmp.Compare(a.Law.Gravity(), b.Law.Gravity()), cmp.Compare(a.First, b.First))
			}).First)
			return
		}
		for _, seeds := range r.Ran {
			for i := range seeds.count() {
				if !yield(seeds.First + uint64(i)) {
					return
				}
			}
		}
	}
}

// Document builds the report: the overall result, the runs that did not come out as expected, the result for each law,
// and the most instructive run.
func (r *RunsReport) Document() *document.Document {
	lines := r.lines()
	standing := r.standing(lines)
	ok := standing.Result == document.Passed
	reasons := document.Notes("reason", slices.Concat(r.open(), r.Failed.furtherLines()))
	title := document.Title{Name: r.Scenario, Size: r.size("seed"), Verdict: standing.Words(), Tone: standing.Tone(),
		Headline: r.headline(), Summary: r.Subject.Summary,
		Notes: single.OpeningNotes(single.Intent(lines.expected(), ok), ok, r.idle())}
	result := document.Section{Body: []document.Block{r.totals(standing)}}
	if len(r.Campaign.Groups) > 0 {
		result.Body = append(result.Body, r.differences())
	}
	if len(r.Laws) > 0 {
		result.Body = append(result.Body, r.Laws.Table("came out", lines.assess))
	}
	result.Body = append(result.Body, document.OnPage{Block: reasons})
	d := &document.Document{Title: title, Body: append([]document.Block{result}, r.example()...),
		Interrupted: r.Interrupted, Repeat: r.Repeat, Data: r.data(&title), Suite: r.suite(&title, lines),
		Beside: r.pages, Metrics: r.openMetrics()}
	if len(r.Plan) > 0 {
		d.Body = append(d.Body, document.Section{Heading: "What struck", Body: []document.Block{r.faultTable()}})
	}
	d.Body = append(d.Body, document.InText{Block: reasons})
	return d
}

// example shows the most instructive run, with links to the pages of all runs that are shown.
func (r *RunsReport) example() (blocks []document.Block) {
	run, why := r.best()
	if run == nil {
		return nil
	}
	for _, b := range run.Excerpt(fmt.Sprintf("%s: seed %d", why, run.Seed)) {
		if _, whole := b.(document.Whole); whole && run == r.Sample {
			continue // a text needs no example if all runs came out as expected
		}
		blocks = append(blocks, b)
	}
	var links document.Links
	for _, a := range r.pages() {
		links = append(links, document.LinkTo{Slug: a.Slug,
			Words: fmt.Sprintf("%s: timeline, witness and metrics", strings.ReplaceAll(a.Slug, "-", " "))})
	}
	return append(blocks, document.OnPage{Block: document.Section{Body: []document.Block{links}}})
}

// best returns the most instructive run, and why it was chosen. run is nil if there is none.
func (r *RunsReport) best() (run *single.Run, why string) {
	switch {
	case len(r.Shown) == 0:
		return r.Sample, "A run that came out as expected"
	case r.Shown[0].Undecided:
		return r.Shown[0], "The first run whose outcome is undecided"
	}
	return r.Shown[0], "A run with a different outcome"
}

// pages returns the pages of the runs worth showing.
func (r *RunsReport) pages() (all []document.Attached) {
	shown := r.Shown
	if r.Sample != nil {
		shown = []*single.Run{r.Sample}
	}
	for _, run := range shown {
		all = append(all, document.Attached{Slug: fmt.Sprintf("seed-%d", run.Seed), Document: run.Document()})
	}
	return all
}

// open returns the reasons why the result is undecided, one sentence each.
func (r *RunsReport) open() []string {
	_, open := r.Standing(r.Subject)
	return open
}

func (r *Result) judged() int { return r.Done() - r.Failed.Runs }

// undecided returns the number of undecided runs, including the runs that could not be judged and those that were not
// performed.
func (r *Result) undecided() int { return r.Campaign.Undecided + r.Failed.Runs + r.Size() - r.Done() }

// totals returns the number of runs with each outcome.
func (r *RunsReport) totals(s document.Standing) document.Totals {
	c, good := &r.Campaign, document.Good
	if s.Broken {
		good = document.Plain
	}
	return document.Totals{{Count: c.AsExpected, Words: "as expected", Tone: good},
		{Count: c.Otherwise, Words: "not as expected", Tone: document.Bad},
		{Count: r.undecided(), Words: "undecided", Tone: document.Open},
		{Count: c.Digests(), Words: "distinct runs, by digest"}}
}

// got describes the result of a group of runs. If the group is about a metric, its values differ from run to run, so
// got only returns "outside", meaning outside the expected range.
func got(g *format.Group) string { return cmp.Or(g.Got, "outside") }

// differences lists the ways in which runs differed from the expectation.
func (r *RunsReport) differences() document.Table {
	t := document.Table{Heading: "came out otherwise", Columns: []document.Column{{Title: "runs"},
		{Title: "first seed"},
		{Title: "difference", Words: true}}}
	for i := range r.Campaign.Groups {
		g := &r.Campaign.Groups[i]
		t.Rows = append(t.Rows, document.Row{Sign: document.Failed.Sign(), Tone: document.Bad, Name: g.Name,
			Cells: document.Cells(text.Grouped(g.Runs), fmt.Sprint(g.First),
				fmt.Sprintf("expected %s, got %s", g.Want, got(g)))})
	}
	return t
}

// faultTable shows in how many runs each fault in the plan struck.
func (r *RunsReport) faultTable() document.Table {
	t := document.Table{Heading: "fault", Columns: []document.Column{{Title: "struck"}, metColumn}}
	for _, f := range r.Plan {
		met := document.Cell{Words: text.Grouped(f.Met)}
		if f.Met == 0 {
			met.Tone = document.Open
		}
		t.Rows = append(t.Rows, document.Row{Name: f.Line, Code: true,
			Cells: append(document.Cells(text.Grouped(f.Struck)), met)})
	}
	return t
}

// idle says how many faults had no chance to take effect in any run.
func (r *RunsReport) idle() string {
	never, vain := 0, 0
	for _, f := range r.Plan {
		switch {
		case r.judged() == 0:
		case f.Struck == 0:
			never++
		case f.Met == 0:
			vain++
		}
	}
	return single.IdleFaults(never, vain, len(r.Plan))
}

// headline says how many runs broke the most serious broken law, and what happened in the most instructive run.
func (r *RunsReport) headline() string {
	run, _ := r.best()
	if run == nil {
		return "Nothing was checked."
	}
	law := run.Gravest()
	if law == "" {
		return text.CountGrouped(r.judged(), "run") + ": " + headline.Of(run.Recorded(), r.verdict())
	}
	return fmt.Sprintf("In %s of %s, %s was broken. Seed %d: %s", text.Grouped(r.Laws.Of(law).Violated),
		text.CountGrouped(r.judged(), "run"), law, run.Seed, run.Headline())
}

// verdict combines the verdicts of all runs. A law holds if it holds in some run and is not violated or undecided in
// any run.
func (r *RunsReport) verdict() (v checker.Verdict) {
	for _, l := range r.Laws {
		f := checker.Finding{Law: l.Law}
		switch {
		case l.Violated > 0:
			f.Outcome = checker.Violated
		case l.Undecided > 0:
			f.Outcome = checker.Undecided
		case l.Holds > 0:
			f.Outcome = checker.Holds
		}
		v.Findings = append(v.Findings, f)
	}
	return v
}

// standing returns how the runs compare with what their scenario expects.
func (r *RunsReport) standing(lines runsLines) document.Standing {
	s := document.Standing{Named: single.Named(lines.expected()), Excused: true}
	s.Result, _ = r.Standing(r.Subject)
	for i, l := range r.Laws {
		s.Broken, s.Held = s.Broken || l.Violated > 0, s.Held || l.Holds > 0
		s.Excused = s.Excused && (l.Violated == 0 || lines[i].Standing.Excused)
	}
	s.Held, s.Excused = s.Held && !s.Broken, s.Excused && s.Broken
	return s
}
