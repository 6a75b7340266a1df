package single

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// verdicts is the block with a line for each law, and for each metric that the scenario names.
type verdicts struct {
	run   *Run
	views *views
}

// sign is the mark of an outcome.
func sign(o checker.Outcome) (string, document.Tone) {
	r := [...]document.Result{checker.Unchecked: document.NotJudged, checker.Holds: document.Passed,
		checker.Undecided: document.Undecided, checker.Violated: document.Failed}[o]
	return r.Sign(), r.Tone()
}

// outcomeOf is how a metric is marked.
func outcomeOf(e *ExpectLine) checker.Outcome {
	if e.OK() {
		return checker.Holds
	}
	return checker.Violated
}

// metrics are the lines of metrics.
func (b verdicts) metrics() (lines []*ExpectLine) {
	for i := range b.run.Expected {
		e := &b.run.Expected[i]
		law := func(f checker.Finding) bool { return string(f.Law) == e.Name }
		if !slices.ContainsFunc(b.run.Findings(), law) {
			lines = append(lines, e)
		}
	}
	return lines
}

// Text writes the lines. What is expected ends at the margin.
func (b verdicts) Text(p *text.Writer) {
	findings, from := b.run.Findings(), 0
	for i := range findings {
		from = max(from, len("   ")+text.Cells(string(findings[i].Law))+2)
	}
	for i := range findings {
		b.law(p, &findings[i], from)
	}
	for _, e := range b.metrics() {
		mark, tone := sign(outcomeOf(e))
		ln := line(mark, tone, e.Name).Add(text.Plain, "  "+b.run.measured(e.Name))
		expected(p, ln, e, from)
	}
}

// line begins a line.
func line(mark string, tone document.Tone, name string) *text.Line {
	return new(text.Line).Add(text.Plain, " ").Add(tone.Style(), mark).Add(text.Plain, " ").Add(text.Bold, name)
}

// law writes the line of a law. What was seen of one that was not violated stands in it where there is room; why one is
// undecided or unchecked stands below it if need be.
func (b verdicts) law(p *text.Writer, f *checker.Finding, from int) {
	mark, tone := sign(f.Outcome)
	ln := line(mark, tone, string(f.Law)).To(from).Add(tone.Style(), f.Outcome.String())
	e, below := b.run.expectation(string(f.Law)), []string{}
	words, _ := comparison(e)
	room := p.Width() - ln.Cells()
	if words != "" {
		room -= text.Cells("  " + words)
	}
	switch {
	case f.Outcome == checker.Violated:
		ln.Add(text.Plain, ": "+f.Cause.String())
	case f.Explanation == "":
	case text.Cells(": "+f.Explanation) <= room:
		ln.Add(text.Plain, ": "+f.Explanation)
	case f.Outcome != checker.Holds:
		below = append(below, f.Explanation)
	}
	expected(p, ln, e, from)
	if who := f.Judges.String(); who != "" {
		below = append(below, who)
	}
	for _, words := range below {
		p.Text(text.Plain, from, words)
	}
}

// comparison says how a law or metric compares with what is expected of it; nothing if nothing is.
func comparison(e *ExpectLine) (words string, tone document.Tone) {
	if !e.Compared() {
		return "", document.Plain
	}
	if !e.OK() {
		tone = document.Bad
	}
	if e.Standing.Excused || e.Standing.Promise || e.Standing.Result == document.Passed {
		return e.Stands(), tone
	}
	return fmt.Sprintf("expected: %s", e.Expected), tone
}

// expected ends a line with its comparison, which stands on a line of its own if need be.
func expected(p *text.Writer, ln *text.Line, e *ExpectLine, from int) {
	words, tone := comparison(e)
	if words == "" {
		p.Put(ln)
		return
	}
	if ln.Cells()+2+text.Cells(words) <= p.Width() {
		p.Put(ln.To(p.Margin()-text.Cells(words)-2).Add(text.Plain, "  ").Add(tone.Style(), words))
		return
	}
	p.Put(ln)
	p.Text(tone.Style(), from, words)
}

// verdictRow is a line on a page.
type verdictRow struct {
	Name, Sign, Class, Outcome, Value, Explanation, Judges string

	View   string // where what a judge saw is drawn; may be empty
	Expect *ExpectLine
}

// HTML writes a table.
func (b verdicts) HTML(p *html.Writer) {
	var rows []verdictRow
	for _, f := range b.run.Findings() {
		mark, _ := sign(f.Outcome)
		row := verdictRow{Name: string(f.Law), Sign: mark, Class: f.Outcome.String(), Outcome: f.Outcome.String(),
			Judges: f.Judges.String(), Expect: b.run.expectation(string(f.Law)), View: b.views.of(p, &f)}
		if f.Outcome == checker.Violated {
			row.Value = ": " + f.Cause.String()
		} else {
			row.Explanation = f.Explanation
		}
		rows = append(rows, row)
	}
	for _, e := range b.metrics() {
		mark, _ := sign(outcomeOf(e))
		rows = append(rows, verdictRow{Name: e.Name, Sign: mark, Class: outcomeOf(e).String(),
			Value: b.run.measured(e.Name), Expect: e})
	}
	p.Show("verdicts", struct {
		Rows     []verdictRow
		Expected bool
	}{rows, b.run.Recording == nil})
}
