package single

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/reports/timeline"
)

// Document returns the run's report: a timeline, the verdict on each law, the explanation of each violation, and what
// is needed to repeat the run.
func (r *Run) Document() *document.Document {
	return r.document(&views{run: r})
}

func (r *Run) document(v *views) *document.Document {
	title := r.title()
	picture := timeline.New(r.Lanes)
	d := &document.Document{Title: title, Files: r.Files, Repeat: r.Repeat, Data: r.data(&title),
		Suite:  r.suite(&title),
		Beside: v.attached, Metrics: r.openMetrics()}
	d.Body = append(d.Body, picture, document.Section{Body: []document.Block{verdicts{r, v}}})
	d.Body = append(d.Body, r.stories(picture)...)
	if len(r.Metrics) > 0 {
		d.Body = append(d.Body, document.InText{Block: document.Metrics(r.Metrics)})
	}
	d.Body = append(d.Body, r.conditions(v, picture))
	return d
}

// Excerpt returns blocks that show the run in another report. In text output, they show the whole report on the run. On
// a page, they show only what OnPage returns.
func (r *Run) Excerpt(heading string) []document.Block {
	return append([]document.Block{document.Whole{Document: r.Document()}}, r.OnPage(heading)...)
}

// OnPage returns the part of the run that appears on another report's page: the plan under a heading, the timeline, and
// the explanation of each violation.
func (r *Run) OnPage(heading string) []document.Block {
	picture := timeline.New(r.Lanes)
	all := []document.Block{
		document.OnPage{Block: document.Section{Heading: heading, Body: []document.Block{r.plan(),
			document.Command(r.Repeat)}}},
		document.OnPage{Block: picture}}
	for _, story := range r.stories(picture) {
		all = append(all, document.OnPage{Block: story})
	}
	return all
}

// title returns the title block at the beginning of the report.
func (r *Run) title() document.Title {
	s := r.standing()
	t := document.Title{Name: r.Scenario, Size: fmt.Sprintf("seed %d", r.Seed), Verdict: s.Words(), Tone: s.Tone(),
		Headline: r.Headline(), Summary: r.Summary}
	if r.Recording != nil {
		t.Size, t.Verdict = r.Recorded().Header.Reading.String()+" reading", r.recordedVerdict()
	}
	t.Notes = OpeningNotes(Intent(r.Expected, r.OK), r.OK, r.idle())
	return t
}

// OpeningNotes returns the notes below a report's headline: how the outcome compares with the scenario, and which
// faults are certain to have had no effect. intent and idle may be empty.
func OpeningNotes(intent string, ok bool, idle string) (notes []document.Paragraph) {
	if intent != "" {
		notes = append(notes, document.Paragraph{Words: intent})
		if !ok {
			notes[0].Tone = document.Bad
		}
	}
	if idle != "" {
		notes = append(notes, document.Paragraph{Words: idle, Tone: document.Open})
	}
	return notes
}

// stories returns the explanation of each violation. The explanations refer to the numbers in the picture.
func (r *Run) stories(picture *timeline.Timeline) (all []document.Block) {
	for b := range (checker.Verdict{Findings: r.Findings()}).Breaches() {
		all = append(all, picture.Story(*b))
	}
	return all
}

// conditions returns what is needed to repeat the run, and what was measured.
func (r *Run) conditions(v *views, picture *timeline.Timeline) document.Columns {
	notes := document.Notes("note", r.Notes)
	plan := document.Section{Heading: "Plan", Body: []document.Block{r.plan()}}
	if r.Recording != nil {
		var faults document.Facts
		for _, line := range r.Plan {
			faults = append(faults, document.Fact{Name: "faults", Value: line})
		}
		plan = document.Section{Heading: "Faults", Body: []document.Block{document.InText{Block: faults},
			document.OnPage{Block: r.plan()}, append(r.recordedFacts(), notes...)}}
	} else {
		if r.Source != "" {
			notes = append(notes, document.Fact{Name: "source", Value: r.Source})
		}
		inText, onPage := r.facts()
		plan.Body = append(plan.Body, document.InText{Block: slices.Concat(inText, notes)},
			document.OnPage{Block: slices.Concat(onPage, notes)})
	}
	plan.Body = append(plan.Body, document.OnPage{Block: v},
		document.InText{Block: document.Labeled{Block: leftOut{v, picture}}})
	all := document.Columns{plan}
	if len(r.Metrics) > 0 {
		all = append(all, document.Section{Heading: "Metrics",
			Body: []document.Block{document.OnPage{Block: document.Metrics(r.Metrics)}}})
	}
	return all
}

// facts describes how the run was executed: in a single line for the report's text form, and as a list for its page.
func (r *Run) facts() (line, list document.Facts) {
	events, took := len(r.Recorded().Events), text.Instant(history.Of(r.Simulated))
	seed := strconv.FormatUint(r.Seed, 10)
	if r.real() {
		return document.Facts{{Name: "run", Value: fmt.Sprintf("seed %s, %s in the history, %s of real time", seed,
				text.Count(events, "event"), took)}},
			document.Facts{{Name: "seed", Value: seed},
				{Name: "events", Value: fmt.Sprintf("%d in the history", events)},
				{Name: "real time", Value: took}}
	}
	digest := cmp.Or(r.Digest, "unknown")
	return document.Facts{{Name: "run", Value: fmt.Sprintf("seed %s, digest %s, %s in the history, %d simulated, %s",
			seed, digest, text.Count(events, "event"), r.Events, took)}},
		document.Facts{{Name: "seed", Value: seed}, {Name: "digest", Value: digest},
			{Name: "events", Value: fmt.Sprintf("%d events simulated, %d in the history", r.Events, events)},
			{Name: "true time", Value: took}}
}

// suite returns a test suite with a case for each law, and for each metric that the scenario names.
func (r *Run) suite(title *document.Title) document.Suite {
	if r.Recording != nil {
		return r.recordedSuite()
	}
	s := document.Suite{Name: "run " + r.Scenario, Verdict: title.Verdict, Headline: title.Headline, Note: r.idle(),
		Repeat: r.Repeat}
	for i := range r.Expected {
		e := &r.Expected[i]
		got, how := r.cameOut(e.Name)
		c := e.Case(r.Scenario, got, how)
		if c.Result == document.Failed {
			c.Story = r.Story(c.Name)
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// cameOut returns the outcome for a law or metric, worded as in the scenario file. It also returns words to append to
// the verdict.
func (r *Run) cameOut(name string) (got, how string) {
	if !slices.Contains(checker.Laws, checker.Law(name)) {
		got = r.measured(name)
		return got, ": " + got
	}
	f, alone := r.Verdict.Of(checker.Law(name)), ""
	if a := f.Judges.Alone(); a != "" {
		alone = " (" + a + ")"
	}
	switch f.Outcome {
	case checker.Violated:
		return f.Came(), ": " + f.Cause.String() + f.Also() + alone
	case checker.Holds:
		return f.Came(), alone
	}
	return f.Came(), ": " + f.Explanation
}

// measured formats a metric's value.
func (r *Run) measured(name string) string {
	if m, ok := r.Metrics.Of(name); ok {
		return document.MetricValue(m)
	}
	return "no value"
}
