package reports

import (
	"fmt"
	"io"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/reports/sweepmap"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
	"github.com/fencepost-sim/fencepost/scenarios/tally"
)

// Text writes a sweep: each law as a strip or a map of signs with its edges in words, then the assertions, and what shows
// the first failure of each. The error is w's.
func (s *Sweep) Text(w io.Writer, opt TextOptions) error {
	p := opt.page(w)
	title(p, s.Scenario.Name, s.size(), s.standing())
	if s.Scenario.Summary != "" {
		p.text(plain, 2, s.Scenario.Summary)
	}
	p.blank()
	s.setting(p)
	for _, law := range s.Laws {
		p.blank()
		s.law(p, sweepmap.Of(s.Sweep, law))
	}
	p.blank()
	s.legend(p)
	if len(s.Asserted) > 0 {
		p.blank()
		p.put(new(line).add(bold, "Assertions"))
		for i := range s.Asserted {
			s.claim(p, &s.Asserted[i])
		}
	}
	p.blank()
	stopped(p, s.Interrupted)
	notes(p, "note    ", s.notes())
	closing(p, s.Files, s.Repeat)
	for i := range s.Asserted {
		s.failure(p, i)
	}
	return p.err
}

// setting says what is varied, and what stays as it is.
func (s *Sweep) setting(p *page) {
	labels := []string{"varied  "}
	if len(s.Axes) == 2 {
		labels = []string{"across  ", "upwards "}
	}
	for i, label := range labels {
		p.hang(0, label, plain, s.varied(i))
	}
	for i, fixed := range s.With() {
		p.hang(0, []string{"with    ", "        "}[min(i, 1)], plain, fixed)
	}
	for i, fault := range s.Faults() {
		p.hang(0, []string{"faults  ", "        "}[min(i, 1)]+strconv.Itoa(i+1)+" ", plain, fault)
	}
}

// anchor ends a sentence on an edge.
func (s *Sweep) anchor() string {
	at := s.At()
	if at == "" {
		return ""
	}
	return ", at " + at
}

// varied says what an axis varies: "restart, 0s to 12s in 13 steps (restart delay after the crash of redis-3)".
func (s *Sweep) varied(i int) string {
	a := &s.Axes[i]
	text := a.Name + ", "
	switch n := len(a.Levels); {
	case a.Unit() == sweep.Words || n < 3:
		text += levelList(a)
	default:
		text += fmt.Sprintf("%s to %s, %d values", a.Levels[0].Text, a.Levels[n-1].Text, n)
	}
	if title := s.Title(i); title != a.Name {
		text += ": " + title
	}
	return text
}

func levelList(a *sweep.Axis) string {
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
func (s *Sweep) law(p *page, l *sweepmap.Law) {
	ln := new(line).add(bold, string(l.Law))
	if len(s.Axes) == 1 && len(l.Lines) == 1 {
		words := l.Lines[0].Words(s.Axes[0].Name) + s.anchor()
		if ln.cells+2+cells(words) <= p.width {
			p.put(ln.add(plain, "  "+words))
		} else {
			p.put(ln)
			p.text(plain, 2, words)
		}
	} else {
		p.put(ln)
	}
	g := newGrid(s, l, p.width)
	g.draw(p)
	if len(s.Axes) == 2 && !g.beside {
		for i := range l.Lines {
			along := &l.Lines[i]
			p.hang(2, s.Axes[1-along.Axis].Name+" "+along.Other.Text+"  ", plain, along.Words(s.Axes[along.Axis].Name))
		}
	}
	for i := range l.Lines {
		if along := &l.Lines[i]; !along.Monotone() {
			p.hang(2, "! ", yellow, s.place(along)+turnsTwice)
		}
	}
	s.details(p, l)
}

// place names the line where there are several.
func (s *Sweep) place(l *sweep.Line) string {
	if l.Other == nil {
		return ""
	}
	return "at " + s.Axes[1-l.Axis].Name + " " + l.Other.Text + ", "
}

// details tell the edges of a single axis, and the causes over all points.
func (s *Sweep) details(p *page, l *sweepmap.Law) {
	for _, e := range l.Edges {
		if cause := edgeCause(e); len(s.Axes) == 1 && cause.Runs > 0 {
			p.hang(2, "edge  ", plain, fmt.Sprintf("%s %s, %s %s: %s, first with seed %d", e.Last.Levels[0].Text, e.Before,
				e.First.Levels[0].Text, e.After, cause.Cause, cause.First))
		}
		if again := s.Repeats[e]; again != "" {
			commandAt(p, 8, "", again)
		}
		if !e.Exact {
			p.hang(2, "edge  ", yellow, fmt.Sprintf("between %s and %s: %s", s.Words(e.Last.Levels), s.Words(e.First.Levels), gap(e)))
		}
	}
	for _, c := range causes(l) {
		p.hang(2, "✗     ", plain, fmt.Sprintf("%s: in %s at %s", c.cause, phrase.Count(c.runs, "run"), phrase.Count(c.points, "point")))
	}
	for _, c := range problems(l) {
		p.hang(2, "–     ", plain, fmt.Sprintf("%s: at %s", c.cause, phrase.Count(c.points, "point")))
	}
}

// gap says why the sides of an edge lie further apart than was asked for.
func gap(e *sweep.Edge) string {
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
func causes(l *sweepmap.Law) (list []causeSum) {
	for i := range l.Cells {
		for _, c := range l.Cells[i].Causes {
			list = addCause(list, c.Cause.String(), c.Runs)
		}
	}
	return list
}

// problems sums up why points are no valid scenarios.
func problems(l *sweepmap.Law) (list []causeSum) {
	for i := range l.Cells {
		if problem := l.Cells[i].Problem; problem != "" {
			list = addCause(list, problem, 0)
		}
	}
	return list
}

// legend says what the signs mean.
func (s *Sweep) legend(p *page) {
	p.flow("", []string{"✓ held in all runs of the point", "✗ broken in all", "± in some", "? not told in all", "– no valid scenario"})
	p.text(plain, 0, "safe means: "+s.meaning())
}

// meaning says what safe rests on.
func (s *Sweep) meaning() string {
	return fmt.Sprintf("no violation in %s of a point, which a chance of %s %% in one run would give one time in twenty",
		phrase.Count(s.Seeds, "run"), strconv.FormatFloat(100*tally.UpperBound(s.Seeds), 'g', 3, 64))
}

// turnsTwice warns of a line that does not go from broken to safe, or back, once and for all.
const turnsTwice = "it turns more than once; between points that came out alike nothing was tried"

// claim tells an assertion.
func (s *Sweep) claim(p *page, a *sweep.Asserted) {
	p.hang(0, " "+results[result(a)].sign+" ", [...]style{yellow, green, red, yellow}[a.Standing], a.Text)
	p.text(plain, 3, s.why(a))
}

// failure tells the run that shows how the ith assertion fails.
func (s *Sweep) failure(p *page, i int) {
	a, shown := &s.Asserted[i], s.Shown[i]
	if shown == nil {
		return
	}
	p.blank()
	rule(p)
	p.text(bold, 0, "Against: "+a.Text)
	p.blank()
	lanes := Arrange(shown.history())
	if f := shown.Verdict.Of(a.Law); f.Outcome == checker.Violated {
		violation(p, lanes, &f)
	} else {
		p.text(red, 0, string(a.Law)+" "+f.Outcome.String())
		p.text(plain, 2, f.Explanation)
	}
	p.blank()
	run := *shown
	run.Metrics = nil
	footer(p, &run)
}
