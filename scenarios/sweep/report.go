package sweep

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Report is a sweep with what is shown of it.
type Report struct {
	*Sweep
	Scenario *scenarios.Scenario
	// command to paste that shows how the law is broken on one side; none if there is none
	Repeats map[*Edge]string
	Shown   map[int]*single.Run // the run that shows how an assertion failed, by its number from 0
	Files   string              // folder with what was left; empty if nothing was
	Repeat  string              // command to paste that sweeps again
}

// notes are what a reader must know beside the laws, a sentence each.
func (s *Report) notes() []string {
	all := []string{}
	faults := s.Faults()
	for _, n := range s.Idle() {
		all = append(all, "fault "+strconv.Itoa(n)+" struck in no run of any point: "+faults[n-1])
	}
	return all
}

// size says how much was tried.
func (s *Report) size() string {
	_, points := s.Made()
	words := text.Count(points, "point") + ", " + text.Count(s.Seeds, "seed") + " each"
	if len(s.Edges) > 0 && s.Sure > s.Seeds {
		words += ", " + strconv.Itoa(s.Sure) + " beside edges"
	}
	return words
}

// edgeCause is a way in which the law was broken on one side of an edge.
func edgeCause(e *Edge) (cause campaign.Finding) {
	for _, p := range []*Point{e.Last, e.First} {
		if all := Causes(p, e.Law); len(all) > 0 {
			cause = all[0]
		}
	}
	return cause
}

// standing says in a few words what came of the assertions.
func (s *Report) standing() string {
	failed, open := 0, 0
	for i := range s.Asserted {
		switch s.Asserted[i].Standing {
		case document.Passed:
		case document.Failed:
			failed++
		default:
			open++
		}
	}
	n := len(s.Asserted)
	switch {
	case s.Interrupted && failed == 0:
		return document.Undecided.String()
	case n == 0:
		return "nothing asserted"
	case failed > 0:
		return text.Count(failed, "assertion") + " of " + strconv.Itoa(n) + " failed"
	case open > 0:
		return document.Undecided.String()
	case n == 1:
		return "assertion met"
	}
	return "all " + strconv.Itoa(n) + " assertions met"
}

// outcome says in a word what came of an assertion.
func outcome(a *Asserted) string {
	switch a.Standing {
	case document.Passed:
		return "met"
	case document.Failed:
		return "failed"
	}
	return document.Undecided.String()
}

// unmet says in a sentence where an assertion fails, or why it could not be told; it is empty if it is met.
func (s *Report) unmet(a *Asserted) string {
	switch {
	case a.Standing == document.NotJudged:
		return "the condition was true at no point that was run: nothing was tried"
	case a.Standing == document.Undecided && a.Unjudged == 0:
		return fmt.Sprintf("met at the %d points that were tried before the sweep was interrupted", a.Points)
	case a.Standing == document.Undecided:
		return fmt.Sprintf("at %d of the %d points at which the condition was true the law was not judged to its end",
			a.Unjudged, a.Points)
	case a.Standing == document.Passed:
		return ""
	}
	found := "holds in all runs"
	if a.Want == checker.Holds {
		found = fmt.Sprintf("violated by %s in %d of %d runs", Causes(a.Counter, a.Law)[0].Cause,
			a.Counter.Laws.Of(a.Law).Violated, a.Counter.Runs)
	}
	return fmt.Sprintf("fails at %s: %s, seed %d", s.Words(a.Counter.Levels), found, a.Seed)
}

// why says in a sentence what came of an assertion.
func (s *Report) why(a *Asserted) string {
	if unmet := s.unmet(a); unmet != "" {
		return unmet
	}
	return "met at " + text.Count(a.Points, "point")
}

// result is how an assertion came out as a case: one that was never tried is not decided.
func result(a *Asserted) document.Result {
	if a.Standing == document.NotJudged {
		return document.Undecided
	}
	return a.Standing
}

// Suite is what a CI system counts: each assertion, and each law with its edges.
func (s *Report) Suite() document.Suite {
	suite := document.Suite{Name: "sweep " + s.Scenario.Name, Repeat: s.Repeat}
	for i := range s.Asserted {
		suite.Cases = append(suite.Cases, s.claimCase(i))
	}
	for _, law := range s.Laws {
		suite.Cases = append(suite.Cases, s.lawCase(LawOf(s.Sweep, law)))
	}
	suite.Cases = append(suite.Cases, document.InterruptedCases(s.Scenario.Name, s.Interrupted)...)
	return suite
}

// claimCase is the ith assertion as a CI system counts it.
func (s *Report) claimCase(i int) document.Case {
	a := &s.Asserted[i]
	c := document.Case{Group: s.Scenario.Name, Name: a.Text, Result: result(a), Message: s.why(a)}
	run := s.Shown[i]
	if run == nil {
		return c
	}
	c.Story = run.Verdict.Of(a.Law).Explanation + "\nseed " + strconv.FormatUint(run.Seed, 10) + "\n" +
		strings.Join(run.Plan, "\n") + "\n" + run.Repeat
	return c
}

// lawCase is a law as a CI system counts it: it passes where something of it was told, whatever that is, as nothing was
// asserted of it.
func (s *Report) lawCase(l *Law) document.Case {
	c := document.Case{Group: s.Scenario.Name, Name: string(l.Law)}
	for i := range l.Cells {
		if state := l.Cells[i].State; state != Unjudged && state != Invalid {
			c.Result = document.Passed
		}
	}
	if c.Result == document.NotJudged {
		c.Message = "not judged at any point"
		return c
	}
	var lines []string
	for i := range l.Lines {
		along := &l.Lines[i]
		lines = append(lines, s.place(along)+along.Words(s.Axes[along.Axis].Name))
	}
	if len(lines) == 0 {
		for i := range l.Cells {
			lines = append(lines, s.Words(l.Cells[i].Levels)+": "+l.Cells[i].State.String())
		}
	}
	c.Message, c.Story = lines[0], strings.Join(lines[1:], "\n")
	return c
}

// Pages is the one page of the sweep.
func (s *Report) Pages(path string) []document.Page {
	return []document.Page{{Path: path, Write: s.html}}
}
