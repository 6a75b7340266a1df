package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// Assertion is a claim about the outcome of a law at all points at which a condition is true.
type Assertion struct {
	Text string // "lease-exclusion holds when restart >= ttl * 1.01 + 2ms"
	Law  checker.Law
	Want checker.Outcome // Holds: in every run; Violated: in at least one
	when func(*varied) (bool, error)
}

// Assertion parses "LAW holds when CONDITION" or "LAW is violated when CONDITION" for a sweep over the given axes. An
// error is a *nemesis.ParseError, with the column in text.
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

// applies reports whether the condition is true at a point. The point must be a valid scenario.
func (a *Assertion) applies(v *varied) (bool, error) {
	is, err := a.when(v)
	if err != nil {
		return false, fmt.Errorf("%q: %w", a.Text, err)
	}
	return is, nil
}

// Asserted is the outcome of an assertion in a sweep.
type Asserted struct {
	*Assertion
	// Standing is Passed if the law came out as claimed at every point tried at which the condition was true, Failed
	// if it did not at some point, Undecided if it was undecided at one, and NotJudged if there was no such point.
	Standing document.Result
	Points   int    // points tried at which the condition was true, including those between the points of the grid
	Unjudged int    // how many of them left the law undecided
	Counter  *Point // first point at which the law did not come out as claimed; nil if there is none
	// Seed is a seed that shows the failure: the lowest that broke a law claimed to hold, or else the first of the
	// sweep.
	Seed uint64
	// True says for each point of the grid whether the condition is true there. Turns says where that changes between
	// points.
	True  []bool
	Turns []Turn
}

// Turn is a value between two neighbouring points of the grid at which a condition becomes true or false.
type Turn struct {
	Point int // index in the grid of the point before it
	Axis  int
	At    Level // the value nearest to the change at which the condition is true
}

// count adds the outcome at a point at which the condition is true; from is the first seed.
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
