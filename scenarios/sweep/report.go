package sweep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Report is the report of a sweep.
type Report struct {
	*Sweep
	Scenario *scenarios.Scenario
	// Repeats maps an edge to a command that repeats a run in which the law is broken, at one of the points next to the
	// edge. If there is no such run, there is no command for the edge.
	Repeats map[*Edge]string
	Shown   map[int]*single.Run // runs that show how assertions failed, keyed by the assertion's index
	Files   string              // folder with the results; empty if there is none
	Repeat  string              // command that repeats the sweep
}

// Document returns the report. It shows the assertions, each law's outcomes by value, what was varied, and a run for
// each failed assertion. The text form shows the first of these runs in full; for the others, it shows only the
// commands that repeat them.
func (s *Report) Document() *document.Document {
	d := &document.Document{
		Title: document.Title{Name: s.Scenario.Name, Size: s.size(), Verdict: s.verdict(), Tone: s.Standing().Tone(),
			Summary: s.Scenario.Summary},
		Interrupted: s.Interrupted, Files: s.Files, Repeat: s.Repeat, Data: s.data(), Suite: s.suite(),
	}
	if len(s.Asserted) == 0 && !s.Interrupted {
		d.Tone = document.Plain
	}
	if len(s.Asserted) > 0 {
		d.Body = append(d.Body, document.Section{Body: []document.Block{s.assertions()}})
	}
	for _, law := range s.Laws {
		d.Body = append(d.Body, s.law(LawOf(s.Sweep, law)))
	}
	d.Body = append(d.Body, document.Section{Heading: "What was varied", Body: s.setting()})
	first := true
	for i := range s.Asserted {
		run := s.Shown[i]
		if run == nil {
			continue
		}
		against := "Against: " + s.Asserted[i].Text
		d.Body = append(d.Body, document.InText{Block: document.Paragraph{Words: against, Tone: document.Strong}})
		if first {
			d.Body = append(d.Body, run.Excerpt(against)...)
		} else {
			d.Body = append(append(d.Body, document.InText{Block: document.Command(run.Repeat)}),
				run.OnPage(against)...)
		}
		first = false
	}
	return d
}

// size says how many points and seeds were tried.
func (s *Report) size() string {
	_, points := s.made()
	return text.Count(points, "point") + ", " + text.Count(s.Seeds, "seed") + " each"
}

// verdict sums up the assertions' outcomes in a phrase.
func (s *Report) verdict() string {
	n, failed := len(s.Asserted), 0
	for i := range s.Asserted {
		if s.Asserted[i].Standing == document.Failed {
			failed++
		}
	}
	switch {
	case failed > 0:
		return text.Count(failed, "assertion") + " of " + strconv.Itoa(n) + " failed"
	case s.Standing() == document.Undecided:
		return document.Undecided.String()
	case n == 0:
		return "nothing asserted"
	case n == 1:
		return "assertion met"
	}
	return "all " + strconv.Itoa(n) + " assertions met"
}

// assertions returns a table with a row for each assertion.
func (s *Report) assertions() document.Table {
	t := document.Table{Heading: "assertion"}
	for i := range s.Asserted {
		a := &s.Asserted[i]
		t.Rows = append(t.Rows, document.Row{Sign: result(a).Sign(), Tone: result(a).Tone(), Name: a.Text, Code: true,
			Notes: []document.Paragraph{{Words: s.why(a)}}})
	}
	return t
}

// result returns the outcome of an assertion. It is Undecided if the assertion's condition was not true at any point.
func result(a *Asserted) document.Result {
	if a.Standing == document.NotJudged {
		return document.Undecided
	}
	return a.Standing
}

// unmet says where an assertion failed, or why it is undecided. It returns "" if the assertion is met.
func (s *Report) unmet(a *Asserted) string {
	switch {
	case a.Standing == document.NotJudged:
		return "the condition was not true at any point that was run, so it was not tested"
	case a.Standing == document.Undecided && a.Unjudged == 0:
		return fmt.Sprintf("it was met at %s before the sweep was interrupted", text.Count(a.Points, "point"))
	case a.Standing == document.Undecided:
		return fmt.Sprintf("at %d of the %d points where the condition was true, "+
			"the law could not be judged in every run", a.Unjudged, a.Points)
	case a.Standing == document.Passed:
		return ""
	}
	found := "holds in all runs"
	if a.Want == checker.Holds {
		found = fmt.Sprintf("violated by %s in %d of %d runs", Causes(a.Counter, a.Law)[0].Cause,
			a.Counter.Laws.Of(a.Law).Violated, a.Counter.Runs)
	}
	return fmt.Sprintf("fails at %s: %s, seed %d", s.words(a.Counter.Levels), found, a.Seed)
}

// why explains an assertion's outcome in a sentence.
func (s *Report) why(a *Asserted) string {
	if unmet := s.unmet(a); unmet != "" {
		return unmet
	}
	return "met at " + text.Count(a.Points, "point")
}

// lawSection is the report's section on one law. In its text form, the blocks are indented below the law's name.
type lawSection document.Section

// Text writes the law's name, with the blocks below it.
func (b lawSection) Text(p *text.Writer) {
	p.Put(new(text.Line).Add(text.Bold, b.Heading))
	p.Indent(2, func() {
		for _, one := range b.Body {
			one.Text(p)
		}
	})
}

// HTML writes the section.
func (b lawSection) HTML(p *html.Writer) { document.Section(b).HTML(p) }

// Map returns a law's map.
func (s *Report) Map(l *Law) *Map { return &Map{Sweep: s.Sweep, Scenario: s.Scenario.Name, Law: l} }

func (s *Report) law(l *Law) lawSection {
	b := lawSection{Heading: string(l.Law), Body: append([]document.Block{s.Map(l)}, s.lines(l)...)}
	for _, e := range l.Edges {
		b.Body = append(b.Body, s.edge(e)...)
	}
	b.Body = append(b.Body, causes(l))
	return b
}

// turnsTwice is a warning that the outcome changes more than once along a line.
const turnsTwice = "the outcome changes more than once; nothing was tried between points with the same outcome"

// lines returns blocks that say where the law is safe: a sentence for a sweep with one axis, or a table for a sweep
// with two. The table begins with the highest value, like the map.
func (s *Report) lines(l *Law) []document.Block {
	if len(l.Lines) == 0 {
		return nil
	}
	key := s.Axes[l.Lines[0].Axis].Name
	if len(s.Axes) == 1 {
		one, at := &l.Lines[0], ""
		if s.at() != "" {
			at = ", at " + s.at()
		}
		return []document.Block{document.Paragraph{Words: one.Words(key) + at}, document.Notes("note", one.warnings())}
	}
	t := document.Table{Heading: s.Axes[1-l.Lines[0].Axis].Name, Columns: []document.Column{{Title: key, Words: true}}}
	for i := range l.Lines {
		one := &l.Lines[len(l.Lines)-1-i]
		row := document.Row{Name: one.Other.Text, Cells: document.Cells(one.Words(""))}
		for _, words := range one.warnings() {
			row.Notes = append(row.Notes, document.Paragraph{Words: words, Tone: document.Open})
		}
		t.Rows = append(t.Rows, row)
	}
	return []document.Block{t}
}

// warnings returns sentences that warn the reader about the line's outcomes.
func (l *Line) warnings() []string {
	if l.monotone() {
		return nil
	}
	return []string{turnsTwice}
}

// edge describes edge e, at which a law's outcome changes. If the edge is not exact, the description says why.
func (s *Report) edge(e *Edge) (all []document.Block) {
	if e.Exact && !e.Bounds() {
		return nil // the sentence about the law's line already contains the edge
	}
	if cause := edgeCause(e); len(s.Axes) == 1 && cause.Runs > 0 {
		all = append(all, document.Facts{{Name: "edge", Value: fmt.Sprintf("%s %s, %s %s: %s, first with seed %d",
			e.Last.Levels[0].Text, e.Before, e.First.Levels[0].Text, e.After, cause.Cause, cause.First)}})
	}
	if again := s.Repeats[e]; again != "" {
		all = append(all, document.Command(again))
	}
	if !e.Exact {
		why := "the value in the middle does not give a valid scenario"
		if e.Stopped {
			why = "the search between them was interrupted"
		}
		all = append(all, document.Notes("edge", []string{fmt.Sprintf("between %s and %s: %s", s.words(e.Last.Levels),
			s.words(e.First.Levels), why)}))
	}
	return all
}

// edgeCause returns a violation of e's law at one of the two points next to e.
func edgeCause(e *Edge) (cause campaign.Finding) {
	for _, p := range []*Point{e.Last, e.First} {
		if all := Causes(p, e.Law); len(all) > 0 {
			cause = all[0]
		}
	}
	return cause
}

// causes lists the causes of the law's violations at grid points, and the reasons why some points are not valid
// scenarios.
func causes(l *Law) (all document.Facts) {
	type count struct{ runs, points int }
	counts, order := map[document.Fact]*count{}, []document.Fact{}
	add := func(of document.Fact, runs int) {
		if counts[of] == nil {
			counts[of], order = new(count), append(order, of)
		}
		counts[of].runs += runs
		counts[of].points++
	}
	for i := range l.Cells {
		for _, f := range l.Cells[i].Causes {
			add(document.Fact{Name: "✗", Value: f.Cause.String()}, f.Runs)
		}
		if problem := l.Cells[i].Problem; problem != "" {
			add(document.Fact{Name: "–", Value: problem}, 0)
		}
	}
	slices.SortStableFunc(order, func(a, b document.Fact) int { return strings.Compare(b.Name, a.Name) })
	for _, f := range order {
		n := counts[f]
		if f.Value += ": "; n.runs > 0 {
			f.Value += "in " + text.Count(n.runs, "run") + " "
		}
		f.Value += "at " + text.Count(n.points, "point")
		all = append(all, f)
	}
	return all
}

// setting returns blocks that say what is varied, what is fixed, and what the symbols mean.
func (s *Report) setting() []document.Block {
	runs, _ := s.made()
	var all document.Facts
	add := func(name string, values ...string) {
		for _, value := range values {
			all = append(all, document.Fact{Name: name, Value: value})
		}
	}
	if len(s.Axes) == 1 {
		add("varied", s.varied(0))
	} else {
		add("across", s.varied(0))
		add("upwards", s.varied(1))
	}
	add("with", s.sharedSettings()...)
	for i, fault := range s.faults() {
		add("faults", strconv.Itoa(i+1)+" "+fault)
	}
	add("runs", text.Grouped(runs))
	add("safe", s.meaning())
	return []document.Block{document.InText{Block: document.Facts{{Name: "signs",
		Value: "✓ held in all runs of the point, " +
			"✗ broken in all, ± broken in some, ? broken in none but not judged in all, – no valid scenario"}}},
		append(all, document.Notes("note", s.notes())...)}
}

// varied describes an axis, for example "restart, 0s to 12s, 13 values: restart delay after the crash of redis-3".
func (s *Report) varied(i int) string {
	a := &s.Axes[i]
	words := a.Name + ", "
	if n := len(a.Levels); a.unit() == Words || n < 3 {
		var levels []string
		for _, l := range a.Levels {
			levels = append(levels, l.Text)
		}
		words += strings.Join(levels, ", ")
	} else {
		words += fmt.Sprintf("%s to %s, %d values", a.Levels[0].Text, a.Levels[n-1].Text, n)
	}
	if title := s.title(i); title != a.Name {
		words += ": " + title
	}
	return words
}

// meaning explains how many runs without a violation make a point "safe", and how often the law might still be broken
// there.
func (s *Report) meaning() string {
	bound := func(runs int) string { return text.Percentage(campaign.UpperBound(runs)) }
	words := fmt.Sprintf("A point is safe if no run broke the law there. "+
		"Each point had %s, so with 95%% confidence, fewer than %s of all runs break the law there.",
		text.Count(s.Seeds, "run"), bound(s.Seeds))
	if s.Sure > s.Seeds && len(s.Edges)+len(s.Asserted) > 0 {
		words += fmt.Sprintf(" Points next to an edge, and points where a condition becomes true, had %d runs. "+
			"There, fewer than %s of all runs break the law.", s.Sure, bound(s.Sure))
	}
	return words
}

// notes returns sentences that say what else a reader should know besides the laws' outcomes.
func (s *Report) notes() []string {
	all := []string{}
	faults := s.faults()
	for _, n := range s.idle() {
		all = append(all, fmt.Sprintf("fault %d did not strike in any run: %s", n, faults[n-1]))
	}
	return all
}

// suite returns a test case for each assertion, and one for each law.
func (s *Report) suite() document.Suite {
	suite := document.Suite{Name: "sweep " + s.Scenario.Name, Repeat: s.Repeat}
	for i := range s.Asserted {
		a := &s.Asserted[i]
		c := document.Case{Group: s.Scenario.Name, Name: a.Text, Result: result(a), Message: s.why(a)}
		if run := s.Shown[i]; run != nil {
			c.Story = run.Verdict.Of(a.Law).Explanation + "\nseed " + strconv.FormatUint(run.Seed, 10) + "\n" +
				strings.Join(run.Plan, "\n") + "\n" + run.Repeat
		}
		suite.Cases = append(suite.Cases, c)
	}
	for _, law := range s.Laws {
		suite.Cases = append(suite.Cases, s.lawCase(LawOf(s.Sweep, law)))
	}
	suite.Cases = append(suite.Cases, document.InterruptedCases(s.Scenario.Name, s.Interrupted)...)
	return suite
}

// lawCase returns the test case that says where a law is safe. It passes if the law was judged at one or more grid
// points.
func (s *Report) lawCase(l *Law) document.Case {
	c := document.Case{Group: s.Scenario.Name, Name: string(l.Law)}
	if !slices.ContainsFunc(l.Cells, func(c Cell) bool { return c.State != Unjudged && c.State != Invalid }) {
		c.Message = "the law was never checked in this sweep"
		return c
	}
	var lines []string
	for i := range l.Lines {
		one, place := &l.Lines[i], ""
		if one.Other != nil {
			place = "at " + s.Axes[1-one.Axis].Name + " " + one.Other.Text + ", "
		}
		lines = append(lines, place+one.Words(s.Axes[one.Axis].Name))
	}
	if len(lines) == 0 {
		for i := range l.Cells {
			lines = append(lines, s.words(l.Cells[i].Levels)+": "+l.Cells[i].State.String())
		}
	}
	c.Result, c.Message, c.Story = document.Passed, lines[0], strings.Join(lines[1:], "\n")
	return c
}
