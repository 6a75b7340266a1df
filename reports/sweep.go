package reports

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/reports/term"
)

// Sweep is how laws come out where values of a scenario are varied.
type Sweep struct {
	Scenario, Summary string
	Seeds             int      // runs of each point
	From              uint64   // the first seed
	Faults            []string // as the scenario lists them, before they are varied
	Axes              []SweepAxis
	At                string   // what the edges stand and fall with, if it is not varied: "lock.ttl 10s"
	Fixed             []string // what was given one value at all points
	Laws              []SweepLaw
	Assertions        []SweepAssertion
	Notes             []string // what a reader must know beside the laws, a sentence each
	Points, Runs      int      // all of them, those between the points of the grid included
	// Bound is the highest chance of a violation in one run that lets all runs of a point pass with a chance of 5 %.
	Bound float64
	// Interrupted is set if a signal came before everything was tried.
	Interrupted bool
	Files       string // folder with what was left; empty if nothing was
	Repeat      string // command to paste that sweeps again
}

// SweepAxis is one axis of the grid.
type SweepAxis struct {
	Name   string // of the key, as it was written
	Title  string // what it is, in words
	Unit   SweepUnit
	Levels []SweepLevel // at least one
}

// SweepUnit is what an axis counts in.
type SweepUnit uint8

const (
	SweepWords     SweepUnit = iota // no number
	SweepDurations                  // ns
	SweepCounts
	SweepRates // ppm
)

// SweepLevel is a value on an axis.
type SweepLevel struct {
	Text string
	N    int64 // in the unit of the axis; zero for a word
}

// SweepState is what a law comes to at a point.
type SweepState uint8

// The zero SweepState is no pass.
const (
	SweepUntold  SweepState = iota // violated in no run, but not judged to its end in all
	SweepSafe                      // held in all runs
	SweepBroken                    // violated in some run
	SweepInvalid                   // no valid scenario: nothing was run
)

var sweepStates = [...]string{"not told", "safe", "broken", "no valid scenario"}

// String gives the word that reports use.
func (s SweepState) String() string { return sweepStates[s] }

// SweepLaw is how one law came out.
type SweepLaw struct {
	Law   checker.Law
	Cells []SweepCell // of the grid; the first axis runs fastest
	Edges []SweepEdge
	Lines []SweepLine // along the first axis that has something between its levels; none without one
}

// SweepCell is a point of the grid.
type SweepCell struct {
	Tally   LawTally
	Problem string // why it is no valid scenario; empty if it is one
	Causes  []SweepCause
}

// SweepCause is a way in which the law was broken.
type SweepCause struct {
	Cause string
	Runs  int
	First uint64 // the lowest seed
}

// SweepEdge is where the law comes out otherwise: between two neighbouring points on one of the axes.
type SweepEdge struct {
	Cell          int // the point of the grid before it, by its number
	Axis          int
	Last, First   []SweepLevel // on both sides; a value for each axis
	Before, After SweepState
	Exact         bool // they are as near to each other as was asked for
	Stopped       bool // an interruption kept them apart; otherwise no point between them is a valid scenario
	Cause         SweepCause
	Repeat        string // command to paste that shows how the law is broken on one side; empty if there is none
}

// SweepLine is how the law came out along an axis, at one level of the other one if there are two.
type SweepLine struct {
	Axis      int
	Other     string         // the level of the other axis; empty without one
	Stretches []SweepStretch // neighbours differ
}

// SweepStretch is a part of an axis on which the law came out alike wherever it was tried.
type SweepStretch struct {
	State    SweepState
	From, To SweepLevel
}

// SweepAssertion is a claim, and what became of it.
type SweepAssertion struct {
	Text   string
	Law    checker.Law
	Result Result
	Points int    // tried at which its condition was true
	Why    string // in a sentence: where it fails, or why it could not be told; empty if it is met
	Run    *Run   // that shows the failure; nil if there is none
	True   []bool // whether the condition is true, for each point of the grid
	Turns  []SweepTurn
}

// SweepTurn is where a condition begins to be true on the way between two points of the grid, or ends.
type SweepTurn struct {
	Cell int // the point before it, by its number in the grid
	Axis int
	At   SweepLevel // the outermost value at which it is true
}

// title says what a level is of: "restart 5s".
func (s *Sweep) at(levels []SweepLevel) string {
	var parts []string
	for i, l := range levels {
		parts = append(parts, s.Axes[i].Name+" "+l.Text)
	}
	return strings.Join(parts, ", ")
}

// state is what the cell comes to.
func (c *SweepCell) state() SweepState {
	switch {
	case c.Problem != "":
		return SweepInvalid
	case c.Tally.Violated > 0:
		return SweepBroken
	case c.Tally.Holds > 0 && c.Tally.Undecided+c.Tally.Unchecked+c.Tally.NotRun == 0:
		return SweepSafe
	}
	return SweepUntold
}

// mark shows the cell in one sign.
func (c *SweepCell) mark() (string, term.Style) {
	if c.Problem != "" {
		return "–", term.Plain
	}
	return c.Tally.mark()
}

// words say where the law is safe; key, if not empty, stands before the first value of each stretch. It is said to be safe
// from somewhere on only if it is not broken behind it.
func (l *SweepLine) words(key string) string {
	n := len(l.Stretches)
	if n == 0 {
		return ""
	}
	if key != "" {
		key += " "
	}
	first, last := l.Stretches[0], l.Stretches[n-1]
	switch {
	case n == 1:
		return first.State.String() + " at all values tried"
	case n == 2 && first.State == SweepBroken && last.State == SweepSafe:
		return "safe from " + key + last.From.Text + "; broken up to " + first.To.Text
	case n == 2 && first.State == SweepSafe && last.State == SweepBroken:
		return "safe up to " + key + first.To.Text + "; broken from " + last.From.Text
	}
	var parts []string
	for _, s := range l.Stretches {
		where := " at " + key + s.From.Text
		if s.From != s.To {
			where = " from " + key + s.From.Text + " to " + s.To.Text
		}
		parts = append(parts, s.State.String()+where)
	}
	return strings.Join(parts, "; ")
}

// monotone reports whether the law goes from broken to safe, or back, at most once.
func (l *SweepLine) monotone() bool {
	changes, before := 0, SweepUntold
	for _, s := range l.Stretches {
		if s.State != SweepSafe && s.State != SweepBroken {
			continue
		}
		if before != SweepUntold && s.State != before {
			changes++
		}
		before = s.State
	}
	return changes <= 1
}

// Standing says in a few words what came of the assertions.
func (s *Sweep) standing() string {
	failed, open := 0, 0
	for _, a := range s.Assertions {
		switch a.Result {
		case Passed:
		case Failed:
			failed++
		default:
			open++
		}
	}
	n := len(s.Assertions)
	switch {
	case s.Interrupted && failed == 0:
		return undecided
	case n == 0:
		return "nothing asserted"
	case failed > 0:
		return phrase.Count(failed, "assertion") + " of " + strconv.Itoa(n) + " failed"
	case open > 0:
		return "undecided"
	case n == 1:
		return "assertion met"
	}
	return "all " + strconv.Itoa(n) + " assertions met"
}

// levels are the values of the ith point of the grid.
func (s *Sweep) levels(i int) []SweepLevel {
	var levels []SweepLevel
	for k := range s.Axes {
		of := s.Axes[k].Levels
		levels = append(levels, of[i%len(of)])
		i /= len(of)
	}
	return levels
}

// outcome says in a word what came of the assertion.
func (a *SweepAssertion) outcome() string {
	switch a.Result {
	case Passed:
		return "met"
	case Failed:
		return "failed"
	}
	return "undecided"
}

// why says in a sentence what came of the assertion.
func (a *SweepAssertion) why() string {
	if a.Why == "" {
		return "met at " + phrase.Count(a.Points, "point")
	}
	return a.Why
}

// Case is the assertion as a CI system counts it.
func (a *SweepAssertion) Case(s *Sweep) Case {
	c := Case{Group: s.Scenario, Name: a.Text, Result: a.Result, Message: a.why()}
	if a.Run == nil {
		return c
	}
	c.Story = a.Run.Verdict.Of(a.Law).Explanation + "\nseed " + strconv.FormatUint(a.Run.Seed, 10) + "\n" + strings.Join(a.Run.Plan, "\n") + "\n" + a.Run.Repeat
	return c
}

// Case is the law as a CI system counts it: it passes where something of it was told, whatever that is, as nothing was
// asserted of it.
func (l *SweepLaw) Case(s *Sweep) Case {
	c := Case{Group: s.Scenario, Name: string(l.Law)}
	for i := range l.Cells {
		if state := l.Cells[i].state(); state == SweepSafe || state == SweepBroken {
			c.Result = Passed
		}
	}
	if c.Result == NotRun {
		c.Message = "not told at any point"
		return c
	}
	var lines []string
	for i := range l.Lines {
		along := &l.Lines[i]
		lines = append(lines, along.place(s)+along.words(s.Axes[along.Axis].Name))
	}
	if len(lines) == 0 {
		for i := range l.Cells {
			lines = append(lines, s.at(s.levels(i))+": "+l.Cells[i].state().String())
		}
	}
	c.Message, c.Story = lines[0], strings.Join(lines[1:], "\n")
	return c
}
