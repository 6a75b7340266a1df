package sweep

import (
	"fmt"
	"io"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Text writes a sweep: each law as a strip or a map of signs with its edges in words, then the assertions, and what
// shows the first failure of each. The error is w's.
func (s *Report) Text(w io.Writer, opt document.TextOptions) error {
	p := opt.Writer(w)
	document.WriteTitle(p, s.Scenario.Name, s.size(), s.standing())
	if s.Scenario.Summary != "" {
		p.Text(text.Plain, 2, s.Scenario.Summary)
	}
	p.Blank()
	s.setting(p)
	for _, law := range s.Laws {
		p.Blank()
		s.law(p, LawOf(s.Sweep, law))
	}
	p.Blank()
	s.legend(p)
	if len(s.Asserted) > 0 {
		p.Blank()
		p.Put(new(text.Line).Add(text.Bold, "Assertions"))
		for i := range s.Asserted {
			s.claim(p, &s.Asserted[i])
		}
	}
	p.Blank()
	document.Stopped(p, s.Interrupted)
	document.WriteNotes(p, "note    ", s.notes())
	document.Closing(p, s.Files, s.Repeat)
	for i := range s.Asserted {
		s.failure(p, i)
	}
	return p.Err()
}

// setting says what is varied, and what stays as it is.
func (s *Report) setting(p *text.Writer) {
	labels := []string{"varied  "}
	if len(s.Axes) == 2 {
		labels = []string{"across  ", "upwards "}
	}
	for i, label := range labels {
		p.Hang(0, label, text.Plain, s.varied(i))
	}
	for i, fixed := range s.With() {
		p.Hang(0, []string{"with    ", "        "}[min(i, 1)], text.Plain, fixed)
	}
	for i, fault := range s.Faults() {
		p.Hang(0, []string{"faults  ", "        "}[min(i, 1)]+strconv.Itoa(i+1)+" ", text.Plain, fault)
	}
}

// anchor ends a sentence on an edge.
func (s *Report) anchor() string {
	at := s.At()
	if at == "" {
		return ""
	}
	return ", at " + at
}

// varied says what an axis varies: "restart, 0s to 12s in 13 steps (restart delay after the crash of redis-3)".
func (s *Report) varied(i int) string {
	a := &s.Axes[i]
	text := a.Name + ", "
	switch n := len(a.Levels); {
	case a.Unit() == Words || n < 3:
		text += levelList(a)
	default:
		text += fmt.Sprintf("%s to %s, %d values", a.Levels[0].Text, a.Levels[n-1].Text, n)
	}
	if title := s.Title(i); title != a.Name {
		text += ": " + title
	}
	return text
}

func levelList(a *Axis) string {
	text := ""
	for i, l := range a.Levels {
		if i > 0 {
			text += ", "
		}
		text += l.Text
	}
	return text
}

// law draws one law.
func (s *Report) law(p *text.Writer, l *Law) {
	ln := new(text.Line).Add(text.Bold, string(l.Law))
	if len(s.Axes) == 1 && len(l.Lines) == 1 {
		words := l.Lines[0].Words(s.Axes[0].Name) + s.anchor()
		if ln.Cells()+2+text.Cells(words) <= p.Width() {
			p.Put(ln.Add(text.Plain, "  "+words))
		} else {
			p.Put(ln)
			p.Text(text.Plain, 2, words)
		}
	} else {
		p.Put(ln)
	}
	g := newGrid(s, l, p.Width())
	g.draw(p)
	if len(s.Axes) == 2 && !g.beside {
		for i := range l.Lines {
			along := &l.Lines[i]
			p.Hang(2, s.Axes[1-along.Axis].Name+" "+along.Other.Text+"  ", text.Plain,
				along.Words(s.Axes[along.Axis].Name))
		}
	}
	for i := range l.Lines {
		if along := &l.Lines[i]; !along.Monotone() {
			p.Hang(2, "! ", text.Yellow, s.place(along)+turnsTwice)
		}
	}
	s.details(p, l)
}

// place names the line where there are several.
func (s *Report) place(l *Line) string {
	if l.Other == nil {
		return ""
	}
	return "at " + s.Axes[1-l.Axis].Name + " " + l.Other.Text + ", "
}

// details tell the edges of a single axis, and the causes over all points.
func (s *Report) details(p *text.Writer, l *Law) {
	for _, e := range l.Edges {
		if e.Exact && !e.Bounds() {
			continue // its line says it all
		}
		if cause := edgeCause(e); len(s.Axes) == 1 && cause.Runs > 0 {
			p.Hang(2, "edge  ", text.Plain,
				fmt.Sprintf("%s %s, %s %s: %s, first with seed %d", e.Last.Levels[0].Text, e.Before,
					e.First.Levels[0].Text, e.After, cause.Cause, cause.First))
		}
		if again := s.Repeats[e]; again != "" {
			p.Command(8, "", again)
		}
		if !e.Exact {
			p.Hang(2, "edge  ", text.Yellow,
				fmt.Sprintf("between %s and %s: %s", s.Words(e.Last.Levels), s.Words(e.First.Levels), gap(e)))
		}
	}
	for _, c := range causes(l) {
		p.Hang(2, "✗     ", text.Plain,
			fmt.Sprintf("%s: in %s at %s", c.cause, text.Count(c.runs, "run"), text.Count(c.points, "point")))
	}
	for _, c := range problems(l) {
		p.Hang(2, "–     ", text.Plain, fmt.Sprintf("%s: at %s", c.cause, text.Count(c.points, "point")))
	}
}

// gap says why the sides of an edge lie further apart than was asked for.
func gap(e *Edge) string {
	if e.Stopped {
		return "the search between them was interrupted"
	}
	return "what lies between them is no valid scenario"
}

type causeSum struct {
	cause        string
	runs, points int
}

func addCause(list []causeSum, cause string, runs int) []causeSum {
	for i := range list {
		if list[i].cause == cause {
			list[i].runs += runs
			list[i].points++
			return list
		}
	}
	return append(list, causeSum{cause, runs, 1})
}

// causes sums up why the law was broken at the points of the grid.
func causes(l *Law) (list []causeSum) {
	for i := range l.Cells {
		for _, c := range l.Cells[i].Causes {
			list = addCause(list, c.Cause.String(), c.Runs)
		}
	}
	return list
}

// problems sums up why points are no valid scenarios.
func problems(l *Law) (list []causeSum) {
	for i := range l.Cells {
		if problem := l.Cells[i].Problem; problem != "" {
			list = addCause(list, problem, 0)
		}
	}
	return list
}

// legend says what the signs mean.
func (s *Report) legend(p *text.Writer) {
	p.Flow("", []string{"✓ held in all runs of the point", "✗ broken in all", "± in some", "? not judged in all",
		"– no valid scenario"})
	p.Text(text.Plain, 0, "safe means: "+s.meaning())
}

// meaning says what safe rests on.
func (s *Report) meaning() string {
	bound := func(runs int) string { return text.Percentage(campaign.UpperBound(runs)) }
	words := fmt.Sprintf("no violation in %s of a point, so fewer than %s of all (at 95 %%)",
		text.Count(s.Seeds, "run"), bound(s.Seeds))
	if s.Sure > s.Seeds && len(s.Edges)+len(s.Asserted) > 0 {
		words += fmt.Sprintf("; beside an edge and where a condition begins in %d, so fewer than %s", s.Sure,
			bound(s.Sure))
	}
	return words
}

// turnsTwice warns of a line that does not go from broken to safe, or back, once and for all.
const turnsTwice = "it turns more than once; between points that came out alike nothing was tried"

// claim tells an assertion.
func (s *Report) claim(p *text.Writer, a *Asserted) {
	p.Hang(0, " "+result(a).Sign()+" ",
		[...]text.Style{text.Yellow, text.Green, text.Red, text.Yellow}[a.Standing], a.Text)
	p.Text(text.Plain, 3, s.why(a))
}

// failure tells the run that shows how the ith assertion fails.
func (s *Report) failure(p *text.Writer, i int) {
	a, shown := &s.Asserted[i], s.Shown[i]
	if shown == nil {
		return
	}
	p.Blank()
	p.Rule()
	p.Text(text.Bold, 0, "Against: "+a.Text)
	p.Blank()
	if f := shown.Verdict.Of(a.Law); f.Outcome == checker.Violated {
		single.Violation(p, shown, &f)
	} else {
		p.Text(text.Red, 0, string(a.Law)+" "+f.Outcome.String())
		p.Text(text.Plain, 2, f.Explanation)
	}
	p.Blank()
	run := *shown
	run.Metrics = nil
	single.Footer(p, &run)
}
