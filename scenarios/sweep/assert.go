package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// Assertion is a claim on how a law comes out wherever a condition is true.
type Assertion struct {
	Text string // "lease-exclusion holds when restart >= ttl * 1.01 + 2ms"
	Law  checker.Law
	Want checker.Outcome // Holds: in every run; Violated: in at least one
	when func(*varied) (bool, error)
}

// Assertion reads "LAW holds when CONDITION" or "LAW is violated when CONDITION" for a sweep over the given axes. A
// returned error is a *nemesis.ParseError whose column counts in text.
func (b *Subject) Assertion(axes []Axis, text string) (*Assertion, error) {
	var laws []string
	for _, law := range checker.Laws {
		laws = append(laws, string(law))
	}
	p := newParser(b, axes, text)
	a := &Assertion{Text: strings.TrimSpace(text), Law: checker.Law(p.rest[0].text), Want: checker.Holds}
	if !slices.ContainsFunc(laws, p.take) {
		return nil, p.unexpected("a law ("+listed(laws, "or")+")", laws...)
	}
	if !p.take("holds") {
		a.Want = checker.Violated
		if !p.take("is") {
			return nil, p.unexpected(`"holds when" or "is violated when"`, "holds", "is violated")
		}
		if !p.take("violated") {
			return nil, p.unexpected(`"violated"`, "violated")
		}
	}
	if !p.take("when") {
		return nil, p.unexpected(`"when" and a condition`, "when")
	}
	var err error
	a.when, err = p.condition()
	return a, err
}

// applies reports whether the condition is true at a point that is a valid scenario.
func (a *Assertion) applies(v *varied) (bool, error) {
	is, err := a.when(v)
	if err != nil {
		return false, fmt.Errorf("%q: %w", a.Text, err)
	}
	return is, nil
}

// Asserted is what a sweep has made of an assertion.
type Asserted struct {
	*Assertion
	// Standing is AsExpected if the law came out as claimed at every point tried at which the condition was true,
	// Otherwise if it did not at some point, NotDecidable if it was undecided at one, and NotJudged if there was no
	// such point.
	Standing document.Result
	Points   int    // tried at which the condition was true, those between the points of the grid included
	Unjudged int    // of them, at which the law was undecided
	Counter  *Point // the first at which the law came out otherwise; nil if there is none
	// Seed is a seed that shows it: the lowest that broke a law that should hold, or else the first of all.
	Seed uint64
	// True says for each point of the grid whether the condition is true there, Turns where that changes in between.
	True  []bool
	Turns []Turn
}

// Turn is where a condition begins to be true on the way between two points of the grid, or ends.
type Turn struct {
	Point int // the one before it, by its number in the grid
	Axis  int
	At    Level // the outermost value at which it is true
}

// count takes a point into account at which the condition is true.
func (a *Asserted) count(p *Point, from uint64) {
	state := p.State(a.Law)
	if state == Invalid || state == Unjudged && p.cut {
		return
	}
	met := state == Safe
	if a.Want == checker.Violated {
		met = state == Broken || state == Chance
	}
	a.Points++
	switch {
	case met:
	case state == Unjudged:
		a.Unjudged++
	case a.Counter == nil:
		a.Counter, a.Seed = p, from
		for _, f := range p.Findings {
			if f.Law == a.Law && a.Want == checker.Holds {
				a.Seed = f.First
				break
			}
		}
	}
	switch {
	case a.Counter != nil:
		a.Standing = document.Failed
	case a.Unjudged > 0:
		a.Standing = document.Undecided
	default:
		a.Standing = document.Passed
	}
}
