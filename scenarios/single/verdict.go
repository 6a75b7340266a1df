package single

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// verdicts is the part of a report with a line for each law, and for each metric that the scenario names.
type verdicts struct {
	run   *Run
	views *views
}

// sign returns an outcome's mark and the mark's tone (color).
func sign(o checker.Outcome) (string, document.Tone) {
	r := [...]document.Result{checker.Unchecked: document.NotJudged, checker.Holds: document.Passed,
		checker.Undecided: document.Undecided, checker.Violated: document.Failed}[o]
	return r.Sign(), r.Tone()
}

// outcomeOf returns the outcome whose mark is shown for a metric.
func outcomeOf(e *ExpectLine) checker.Outcome {
	if e.OK() {
		return checker.Holds
	}
	return checker.Violated
}

// metrics returns the metric expectations.
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

// Text writes the verdict line by line. If something was expected, the comparison is at the right margin.
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

// line returns a verdict line with a mark and a name. The caller adds the rest.
func line(mark string, tone document.Tone, name string) *text.Line {
	return new(text.Line).Add(text.Plain, " ").Add(tone.Style(), mark).Add(text.Plain, " ").Add(text.Bold, name)
}

// law writes the line for a law. If there is room, the explanation follows on the same line. Otherwise, it is written
// below the line, but only if the law is undecided or unchecked.
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
	for i := range f.Further {
		below = append(below, "also: "+f.Further[i].Cause.String())
	}
	if who := f.Judges.String(); who != "" {
		below = append(below, who)
	}
	for _, words := range below {
		p.Text(text.Plain, from, words)
	}
}

// comparison says how a law or metric compares with its expectation. It returns "" if nothing is expected.
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

// expected appends the comparison with the expectation to a line. If it does not fit there, it gets its own line.
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

// HTML writes the verdict as a table.
func (b verdicts) HTML(p *html.Writer) {
	expectation := "expectation"
	if b.run.Recording != nil {
		expectation = ""
	}
	p.Put(html.El("table", html.Class("laws"), html.Newline,
		html.El("thead", html.El("tr", html.Each([]string{"", "law", "came out", expectation}, heading))), html.Newline,
		html.El("tbody", html.Newline,
			html.Each(b.run.Findings(), func(f checker.Finding) html.Part { return b.finding(p, &f) }),
			html.Each(b.metrics(), func(e *ExpectLine) html.Part {
				return row(e.Name, outcomeOf(e), e, html.Text(b.run.measured(e.Name)))
			})), html.Newline), html.Newline)
}

func heading(title string) html.Part { return html.El("th", html.Text(title)) }

// finding returns the row for a law in the page's table.
func (b verdicts) finding(p *html.Writer, f *checker.Finding) html.Part {
	came := []html.Part{html.El("b", html.Text(f.Outcome.String()))}
	if f.Outcome == checker.Violated {
		came = append(came, html.Text(": "+f.Cause.String()), html.Each(f.Further, func(b checker.Finding) html.Part {
			return html.El("span", html.Class("also"), html.Text("also: "+b.Cause.String()))
		}))
	} else if f.Explanation != "" {
		came = append(came, html.Text(" "), html.El("span", html.Class("why"), html.Text(f.Explanation)))
	}
	if who := f.Judges.String(); who != "" {
		view := b.views.of(p, f)
		came = append(came, html.El("span", html.Class("judges"), html.Text(who), html.If(view != "", html.Text(" ("),
			html.El("a", html.Attr("href", view), html.Text("porcupine's view")), html.Text(")"))))
	}
	return row(string(f.Law), f.Outcome, b.run.expectation(string(f.Law)), came...)
}

// row returns a table row: the outcome, and how it compares with the expectation.
func row(name string, o checker.Outcome, e *ExpectLine, came ...html.Part) html.Part {
	mark, _ := sign(o)
	class := o.String()
	if e != nil && !e.OK() {
		class += " unexpected"
	}
	return html.All(html.El("tr", html.Class(class), html.El("td", html.Class("sign"), html.Text(mark)),
		html.El("td", html.Class("law"), html.Law(name)), html.El("td", came...), html.El("td", compared(e))),
		html.Newline)
}

// compared returns the page's text that compares a law or metric with its expectation. The text is empty if there is
// nothing to compare.
func compared(e *ExpectLine) html.Part {
	if !e.Compared() {
		return html.All()
	}
	words := html.El("span", html.If(!e.OK(), html.Class("cross")), html.Text(e.Stands()))
	if e.Standing.Promise || e.Standing.Excused {
		return words
	}
	return html.All(words, html.Text(fmt.Sprintf(": %s", e.Expected)))
}
