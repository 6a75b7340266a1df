package reports

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/tally"
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
	tally.Finding
	Promised bool
	Small    *search.Shrunk
	Run      *Run     // of the smallest plan that still shows it
	Files    []string // in the folder of Run: plan, scenario and a Go test, each of which fails again
}

// cut reports whether an interruption ended the cutting down.
func (f *ExploredFinding) cut() bool { return f.Small.Ending == search.Interrupted }

func (e *Exploration) standing() string {
	switch standing, _ := e.Standing(e.Subject); standing {
	case expect.Otherwise:
		return "promise broken"
	case expect.AsExpected:
		return "promises kept"
	}
	return undecided
}

// open says why it cannot be told whether the promises are kept.
func (e *Exploration) open() []string {
	_, open := e.Standing(e.Subject)
	return open
}

// Text writes what was found: how the laws came out, and what broke them, grouped by plan, on about a screen. With
// opt.All it goes on with how much of each kind of fault has struck anything, and each finding in full, the first with its
// timeline. The error is w's.
func (e *Exploration) Text(w io.Writer, opt TextOptions) error {
	p := opt.page(w)
	exploreTitle(p, e)
	if e.Subject.Summary != "" {
		p.text(plain, 2, e.Subject.Summary)
	}
	p.blank()
	lawTable(p, promised(e.Laws, e.Subject), "a run breaks it")
	var end bytes.Buffer
	groups := e.byPlan()
	ending := &page{w: &end, width: p.width, color: p.color,
		probe: slices.ContainsFunc(groups, func(g planGroup) bool { return mentionsProbe(g.Headline()) })}
	exploreEnding(ending, e)
	room := screenLines - p.lines - ending.lines
	if opt.All {
		room = math.MaxInt
	}
	exploredGroups(p, groups, room)
	p.raw(ending, end.Bytes())
	p.probe = false
	if !opt.All {
		return p.err
	}
	p.blank()
	exploredFaults(p, e)
	for i, n := range e.byGravity() {
		p.blank()
		rule(p)
		exploredStory(p, &e.Findings[n], i == 0)
	}
	return p.err
}

// exploreEnding says how much was tried, what makes the result weaker, and where all of it is.
func exploreEnding(p *page, e *Exploration) {
	p.blank()
	if all := e.allFaults(); all.Drawn > 0 {
		p.hang(0, "faults  ", plain, fmt.Sprintf("%s drawn, of which %s (%s) met a lock in use", phrase.Grouped(all.Drawn), phrase.Grouped(all.Met), share(all)))
	}
	stopped(p, e.Interrupted)
	notes(p, "open    ", e.open())
	notes(p, "note    ", e.Doubts())
	if len(e.Findings) > 0 {
		p.hang(0, "each    ", plain, "in full, with its timeline: by the command below it, or all with --all")
	}
	closing(p, e.Files, e.Repeat)
}

func exploreTitle(p *page, e *Exploration) {
	what, standing := e.size(), e.standing()
	tone := map[string]style{"promise broken": red, "promises kept": green}[standing]
	if standing == undecided {
		tone = yellow
	}
	room := p.width - cells(what) - cells(standing) - 6
	ln := new(line).add(bold, clip(e.Scenario, room)).add(plain, "  "+what)
	p.put(ln.to(p.margin()-cells(standing)-2).add(plain, "  ").add(tone, standing))
}

// right puts numbers under each other.
func right(ln *line, end int, n int) *line {
	text := phrase.Grouped(n)
	return ln.to(end-cells(text)).add(plain, text)
}

func exploredFaults(p *page, e *Exploration) {
	p.put(new(line).add(bold, "fault").to(22).add(plain, "drawn").to(30).add(plain, "struck").to(38).add(plain, "met a lock in use"))
	for _, f := range e.Faults {
		if f.Drawn > 0 {
			exploredFault(p, f.Kind.String(), f)
		}
	}
	exploredFault(p, "all", e.allFaults())
}

func exploredFault(p *page, name string, f tally.Fault) {
	ln := new(line).add(plain, "   "+name)
	right(ln, 27, f.Drawn)
	right(ln, 36, f.Struck)
	right(ln, 46, f.Met)
	share := share(f)
	p.put(ln.to(55-cells(share)).add(plain, share))
}

// exploredStory tells one finding: the first in full, the others without the timeline.
func exploredStory(p *page, f *ExploredFinding, full bool) {
	standing, tone := f.promise(), red
	if !f.Promised {
		tone = plain
	}
	what := f.what()
	ln := new(line).add(bold, clip(what, p.width-cells(standing)-2))
	p.put(ln.to(p.margin()-cells(standing)).add(tone, standing))
	p.text(plain, 2, f.size())
	p.blank()
	lanes := Arrange(f.Run.history())
	if full {
		timeline(p, lanes, witnesses(f.Run))
		p.blank()
	}
	for _, finding := range f.Run.findings() {
		if finding.Law == f.Law {
			violation(p, lanes, &finding)
		}
	}
	p.blank()
	for i, fault := range f.Run.Plan {
		label := "plan    "
		if i > 0 {
			label = "        "
		}
		p.hang(0, label, plain, fault)
	}
	files := ""
	if f.Run.Files != "" {
		files = strings.Join(append([]string{f.Run.Files + ":"}, f.Files...), " ")
	}
	closing(p, files, f.Run.Repeat)
}

// what is the law and how it was broken.
func (f *ExploredFinding) what() string { return string(f.Law) + ": " + f.Cause.String() }

// size says how often it was found, and how small it has become.
func (f *ExploredFinding) size() string {
	how := "cut down as far as the budget of runs went"
	switch {
	case f.cut():
		how = "the cutting down was interrupted"
	case f.Small.Ending == search.Minimal:
		how = "nothing can be taken away or made simpler"
	}
	return fmt.Sprintf("In %s, first with seed %d. Cut down from %s to %s in %s: %s. %d of 16 seeds show it.", phrase.CountGrouped(f.Runs, "run"),
		f.First, phrase.Count(len(f.Small.First.Faults), "fault"), phrase.Count(len(f.Run.Plan), "fault"), phrase.CountGrouped(f.Small.Runs, "run"), how, f.Small.Often)
}

// Suite has a case for each law, and one for each reason why nothing can be said.
func (e *Exploration) Suite() Suite {
	s := Suite{Name: "explore " + e.Scenario, Repeat: e.Repeat}
	for _, l := range promised(e.Laws, e.Subject) {
		c := Case{Group: e.Scenario, Name: string(l.Law.Law), Result: expect.AsExpected, Message: fmt.Sprintf("kept in %d runs", l.Holds)}
		broken := fmt.Sprintf("broken in %d of %d runs", l.Violated, l.Exercised())
		switch {
		case l.Violated > 0 && !l.Promised:
			c.Message = "not promised; " + broken
		case l.Violated > 0:
			c.Result, c.Message, c.Story = expect.Otherwise, broken, e.stories(l.Law.Law)
		case l.Holds == 0:
			c.Result, c.Message = expect.NotJudged, "no run exercised it"
		}
		s.Cases = append(s.Cases, c)
	}
	s.Cases = append(s.Cases, openCases(e.Scenario, e.open())...)
	// Where all seeds were run, only the cutting down of what is not promised can have been interrupted.
	if standing, _ := e.Standing(e.Subject); standing != expect.AsExpected {
		s.Cases = append(s.Cases, interruptedCases(e.Scenario, e.Interrupted)...)
	}
	return s
}

// stories tells the ways in which one law was broken.
func (e *Exploration) stories(law checker.Law) string {
	var all []string
	for _, f := range e.Findings {
		if f.Law == law {
			all = append(all, fmt.Sprintf("%s, in %d runs, first with seed %d\n%s", f.Cause, f.Runs, f.First, f.Run.story(string(law))))
		}
	}
	return strings.Join(all, "\n\n")
}
