package reports

import (
	"fmt"
	"io"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/reports/term"
)

// SweepText writes a sweep: each law as a strip or a map of signs with its edges in words, then the assertions, and what shows
// the first failure of each. The error is w's.
func SweepText(w io.Writer, s *Sweep, opt TextOptions) error {
	p := opt.page(w)
	title(p, s.Scenario, phrase.Count(s.Points, "point")+", "+phrase.Count(s.Seeds, "seed")+" each", s.standing())
	if s.Summary != "" {
		p.Text(term.Plain, 2, s.Summary)
	}
	p.Blank()
	s.setting(p)
	for i := range s.Laws {
		p.Blank()
		s.law(p, &s.Laws[i])
	}
	p.Blank()
	s.legend(p)
	if len(s.Assertions) > 0 {
		p.Blank()
		p.Put(new(term.Line).Add(term.Bold, "Assertions"))
		for i := range s.Assertions {
			s.Assertions[i].text(p)
		}
	}
	p.Blank()
	stopped(p, s.Interrupted)
	notes(p, "note    ", s.Notes)
	closing(p, s.Files, s.Repeat)
	for i := range s.Assertions {
		s.Assertions[i].failure(p)
	}
	return p.Err()
}

// setting says what is varied, and what stays as it is.
func (s *Sweep) setting(p *term.Writer) {
	labels := []string{"varied  "}
	if len(s.Axes) == 2 {
		labels = []string{"across  ", "upwards "}
	}
	for i, label := range labels {
		p.Hang(0, label, term.Plain, s.Axes[i].words())
	}
	for i, fixed := range s.with() {
		p.Hang(0, []string{"with    ", "        "}[min(i, 1)], term.Plain, fixed)
	}
	for i, fault := range s.Faults {
		p.Hang(0, []string{"faults  ", "        "}[min(i, 1)]+strconv.Itoa(i+1)+" ", term.Plain, fault)
	}
}

// with is what has one value at all points.
func (s *Sweep) with() []string {
	if s.At == "" {
		return s.Fixed
	}
	return append([]string{s.At}, s.Fixed...)
}

// anchor ends a sentence on an edge.
func (s *Sweep) anchor() string {
	if s.At == "" {
		return ""
	}
	return ", at " + s.At
}

// words say what an axis varies: "restart, 0s to 12s in 13 steps (restart delay after the crash of redis-3)".
func (a *SweepAxis) words() string {
	text := a.Name + ", "
	switch n := len(a.Levels); {
	case a.Unit == SweepWords || n < 3:
		text += a.list()
	default:
		text += fmt.Sprintf("%s to %s, %d values", a.Levels[0].Text, a.Levels[n-1].Text, n)
	}
	if a.Title != a.Name {
		text += ": " + a.Title
	}
	return text
}

func (a *SweepAxis) list() string {
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
func (s *Sweep) law(p *term.Writer, l *SweepLaw) {
	ln := new(term.Line).Add(term.Bold, string(l.Law))
	if len(s.Axes) == 1 && len(l.Lines) == 1 {
		words := l.Lines[0].words(s.Axes[0].Name) + s.anchor()
		if ln.Cells()+2+term.Cells(words) <= p.Width() {
			p.Put(ln.Add(term.Plain, "  "+words))
		} else {
			p.Put(ln)
			p.Text(term.Plain, 2, words)
		}
	} else {
		p.Put(ln)
	}
	g := newGrid(s, l, p.Width())
	g.draw(p)
	if len(s.Axes) == 2 && !g.beside {
		for i := range l.Lines {
			along := &l.Lines[i]
			p.Hang(2, s.Axes[1-along.Axis].Name+" "+along.Other+"  ", term.Plain, along.words(s.Axes[along.Axis].Name))
		}
	}
	for i := range l.Lines {
		if along := &l.Lines[i]; !along.monotone() {
			p.Hang(2, "! ", term.Yellow, along.place(s)+turnsTwice)
		}
	}
	s.details(p, l)
}

// place names the line where there are several.
func (l *SweepLine) place(s *Sweep) string {
	if l.Other == "" {
		return ""
	}
	return "at " + s.Axes[1-l.Axis].Name + " " + l.Other + ", "
}

// details tell the edges of a single axis, and the causes over all points.
func (s *Sweep) details(p *term.Writer, l *SweepLaw) {
	for i := range l.Edges {
		e := &l.Edges[i]
		if len(s.Axes) == 1 && e.Cause.Cause != "" {
			p.Hang(2, "edge  ", term.Plain, fmt.Sprintf("%s %s, %s %s: %s, first with seed %d", e.Last[0].Text, e.Before, e.First[0].Text, e.After, e.Cause.Cause, e.Cause.First))
		}
		if e.Repeat != "" {
			p.Command(8, "", e.Repeat)
		}
		if !e.Exact {
			p.Hang(2, "edge  ", term.Yellow, fmt.Sprintf("between %s and %s: %s", s.at(e.Last), s.at(e.First), e.gap()))
		}
	}
	for _, c := range l.causes() {
		p.Hang(2, "✗     ", term.Plain, fmt.Sprintf("%s: in %s at %s", c.cause, phrase.Count(c.runs, "run"), phrase.Count(c.points, "point")))
	}
	for _, c := range l.problems() {
		p.Hang(2, "–     ", term.Plain, fmt.Sprintf("%s: at %s", c.cause, phrase.Count(c.points, "point")))
	}
}

// gap says why the sides of an edge lie further apart than was asked for.
func (e *SweepEdge) gap() string {
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
func (l *SweepLaw) causes() (list []causeSum) {
	for i := range l.Cells {
		for _, c := range l.Cells[i].Causes {
			list = addCause(list, c.Cause, c.Runs)
		}
	}
	return list
}

// problems sums up why points are no valid scenarios.
func (l *SweepLaw) problems() (list []causeSum) {
	for i := range l.Cells {
		if problem := l.Cells[i].Problem; problem != "" {
			list = addCause(list, problem, 0)
		}
	}
	return list
}

// legend says what the signs mean.
func (s *Sweep) legend(p *term.Writer) {
	p.Flow("", []string{"✓ held in all runs of the point", "✗ broken in all", "± in some", "? not told in all", "– no valid scenario"})
	p.Text(term.Plain, 0, "safe means: "+s.meaning())
}

// meaning says what safe rests on.
func (s *Sweep) meaning() string {
	return fmt.Sprintf("no violation in %s of a point, which a chance of %s %% in one run would give one time in twenty",
		phrase.Count(s.Seeds, "run"), strconv.FormatFloat(100*s.Bound, 'g', 3, 64))
}

// turnsTwice warns of a line that does not go from broken to safe, or back, once and for all.
const turnsTwice = "it turns more than once; between points that came out alike nothing was tried"

// text tells an assertion.
func (a *SweepAssertion) text(p *term.Writer) {
	p.Hang(0, " "+a.Result.sign()+" ", [...]term.Style{term.Yellow, term.Green, term.Red, term.Yellow}[a.Result], a.Text)
	p.Text(term.Plain, 3, a.why())
}

// failure tells the run that shows how an assertion fails.
func (a *SweepAssertion) failure(p *term.Writer) {
	if a.Run == nil {
		return
	}
	p.Blank()
	p.Rule()
	p.Text(term.Bold, 0, "Against: "+a.Text)
	p.Blank()
	if f := a.Run.Verdict.Of(a.Law); f.Outcome == checker.Violated {
		violation(p, a.Run.lanes(), &f)
	} else {
		p.Text(term.Red, 0, string(a.Law)+" "+f.Outcome.String())
		p.Text(term.Plain, 2, f.Explanation)
	}
	p.Blank()
	run := *a.Run
	run.Metrics = nil
	footer(p, &run)
}
