package reports

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Exploration is what random plans have done to a scenario.
type Exploration struct {
	*search.Exploration
	Subject *scenarios.Scenario
	Within  time.Duration // in which faults strike
	// Findings are cut down: broken promises first, then the rest, each by the seed that shows it first.
	Findings []ExploredFinding
	// Interrupted is set if a signal ended the runs or the cutting down of findings.
	Interrupted bool
	Files       string // folder with all that was found
	Repeat      string // command to paste that does it again, or goes on
}

// ExploredFinding is one way in which a law was broken, and what it was cut down to.
type ExploredFinding struct {
	campaign.Finding
	Promised bool
	Small    *search.Shrunk
	Run      *single.Run // of the smallest plan that still shows it
	Files    []string    // in the folder of Run: plan, scenario and a Go test, each of which fails again
}

// cut reports whether an interruption ended the cutting down.
func (f *ExploredFinding) cut() bool { return f.Small.Ending == campaign.Interrupted }

func (e *Exploration) standing() document.Standing {
	standing, _ := e.Standing(e.Subject)
	return document.Standing{Result: standing, Promise: true}
}

// open says why it cannot be told whether the promises are kept.
func (e *Exploration) open() []string {
	_, open := e.Standing(e.Subject)
	return open
}

// Text writes what was found: how the laws came out, and what broke them, grouped by plan, on about a screen. With
// opt.All it goes on with how much of each kind of fault has struck anything, and each finding in full, the first with
// its timeline. The error is w's.
func (e *Exploration) Text(w io.Writer, opt document.TextOptions) error {
	p := opt.Writer(w)
	exploreTitle(p, e)
	if e.Subject.Summary != "" {
		p.Text(text.Plain, 2, e.Subject.Summary)
	}
	p.Blank()
	lawTable(p, promised(e.Laws, e.Subject), rated)
	groups, ending := e.byPlan(), p.Draft()
	for i := range groups {
		ending.Mention(groups[i].headline())
	}
	exploreEnding(ending, e)
	room := screenLines - p.Lines() - ending.Lines()
	if opt.All {
		room = math.MaxInt
	}
	exploredGroups(p, groups, room)
	p.Include(ending)
	p.Forget()
	if !opt.All {
		return p.Err()
	}
	p.Blank()
	exploredFaults(p, e)
	for i, n := range e.byGravity() {
		p.Blank()
		p.Rule()
		exploredStory(p, &e.Findings[n], i == 0)
	}
	return p.Err()
}

// exploreEnding says how much was tried, what makes the result weaker, and where all of it is.
func exploreEnding(p *text.Writer, e *Exploration) {
	p.Blank()
	if all := e.allFaults(); all.Drawn > 0 {
		p.Hang(0, "faults  ", text.Plain, fmt.Sprintf("%s drawn, of which %s (%s) struck %s",
			text.Grouped(all.Drawn), text.Grouped(all.Met), share(all), campaign.WhileHeld))
	}
	document.Stopped(p, e.Interrupted)
	failures(p, e.open(), &e.Failed)
	document.WriteNotes(p, "note    ", e.Doubts())
	if len(e.Findings) > 0 {
		p.Hang(0, "each    ", text.Plain, "in full, with its timeline: by the command below it, or all with --all")
	}
	document.Closing(p, e.Files, e.Repeat)
}

func exploreTitle(p *text.Writer, e *Exploration) {
	p.Title(e.Scenario, e.size(), e.standing().Words(), e.standing().Tone().Style())
}

func exploredFaults(p *text.Writer, e *Exploration) {
	p.Put(new(text.Line).Right(59, "struck while the lock"))
	p.Put(new(text.Line).Add(text.Bold, "fault").Right(27, "drawn").Right(36, "struck").Right(59,
		"was held or asked for"))
	for _, f := range e.Faults {
		if f.Drawn > 0 {
			exploredFault(p, f.Kind.String(), f)
		}
	}
	exploredFault(p, "all", e.allFaults())
}

func exploredFault(p *text.Writer, name string, f campaign.Fault) {
	ln := new(text.Line).Add(text.Plain, "   "+name)
	ln.Right(27, text.Grouped(f.Drawn))
	ln.Right(36, text.Grouped(f.Struck))
	ln.Right(50, text.Grouped(f.Met))
	p.Put(ln.Right(59, share(f)))
}

// exploredStory tells one finding: the first in full, the others without the timeline.
func exploredStory(p *text.Writer, f *ExploredFinding, full bool) {
	standing, tone := f.promise(), text.Red
	if !f.Promised {
		tone = text.Plain
	}
	what := f.what()
	ln := new(text.Line).Add(text.Bold, text.Clip(what, p.Width()-text.Cells(standing)-2))
	p.Put(ln.To(p.Margin()-text.Cells(standing)).Add(tone, standing))
	p.Text(text.Plain, 2, f.size())
	p.Blank()
	lanes := f.Run.Lanes()
	if full {
		lanes.Draw(p)
		p.Blank()
	}
	for _, finding := range f.Run.Findings() {
		if finding.Law == f.Law {
			single.Violation(p, f.Run, &finding)
		}
	}
	p.Blank()
	for i, fault := range f.Run.Plan {
		label := "plan    "
		if i > 0 {
			label = "        "
		}
		p.Hang(0, label, text.Plain, fault)
	}
	files := ""
	if f.Run.Files != "" {
		files = strings.Join(append([]string{f.Run.Files + ":"}, f.Files...), " ")
	}
	document.Closing(p, files, f.Run.Repeat)
}

// what is the law and how it was broken.
func (f *ExploredFinding) what() string { return string(f.Law) + ": " + f.Cause.String() }

// size says how often it was found, and how small it has become.
func (f *ExploredFinding) size() string {
	how := "cut down as far as the budget of runs went"
	switch {
	case f.cut():
		how = "the cutting down was interrupted"
	case f.Small.Ending == campaign.Complete:
		how = "nothing can be taken away or made simpler"
	}
	return fmt.Sprintf("In %s, first with seed %d. Cut down from %s to %s in %s: %s. %d of 16 seeds show it.",
		text.CountGrouped(f.Runs, "run"),
		f.First, text.Count(len(f.Small.First.Faults), "fault"), text.Count(len(f.Run.Plan), "fault"),
		text.CountGrouped(f.Small.Runs, "run"), how, f.Small.Often)
}

// Suite has a case for each law, and one for each reason why nothing can be said.
func (e *Exploration) Suite() document.Suite {
	s := document.Suite{Name: "explore " + e.Scenario, Repeat: e.Repeat}
	for _, l := range promised(e.Laws, e.Subject) {
		c := document.Case{Group: e.Scenario, Name: string(l.Law.Law), Result: document.Passed,
			Message: fmt.Sprintf("kept in %d runs", l.Holds)}
		broken := fmt.Sprintf("broken in %d of %d runs", l.Violated, l.Exercised())
		switch {
		case l.Violated > 0 && (!l.Promised || l.Breaks() == 0):
			c.Message = document.NotPromised + "; " + broken
		case l.Violated > 0:
			c.Result, c.Message, c.Story = document.Failed, broken, e.stories(l.Law.Law)
		case l.Holds == 0:
			c.Result, c.Message = document.NotJudged, "no run exercised it"
		}
		s.Cases = append(s.Cases, c)
	}
	s.Cases = append(s.Cases, document.OpenCases(e.Scenario, e.open())...)
	// Where all seeds were run, only the cutting down of what is not promised can have been interrupted.
	if standing, _ := e.Standing(e.Subject); standing != document.Passed {
		s.Cases = append(s.Cases, document.InterruptedCases(e.Scenario, e.Interrupted)...)
	}
	return s
}

// stories tells the ways in which one law was broken.
func (e *Exploration) stories(law checker.Law) string {
	var all []string
	for _, f := range e.Findings {
		if f.Law == law {
			all = append(all, fmt.Sprintf("%s, in %d runs, first with seed %d\n%s", f.Cause, f.Runs, f.First,
				f.Run.Story(string(law))))
		}
	}
	return strings.Join(all, "\n\n")
}
