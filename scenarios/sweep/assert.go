package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Assertion is a claim about a law's outcome at all points where a condition is true.
type Assertion struct {
	Text string // such as "lease-exclusion holds when restart >= ttl * 1.01 + 2ms"
	Law  checker.Law
	Want checker.Outcome // Holds: in every run; Violated: in at least one run
	when func(*varied) (bool, error)
}

// Assertion parses "LAW holds when CONDITION" or "LAW is violated when CONDITION" for a sweep over the given axes.
// Errors are of type *nemesis.ParseError and contain the column in text.
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

// Asserted is an assertion's outcome in a sweep.
type Asserted struct {
	*Assertion
	// Standing is Failed if the law had an outcome other than the claimed one at any tried point where the condition
	// was true. Otherwise, it is Undecided if the sweep was interrupted or if the law was not judged at some of these
	// points, and Passed if the law had the claimed outcome at all of them. If there are no such points in a complete
	// sweep, Standing is NotJudged.
	Standing document.Result
	// Points is the number of tried points where the condition was true, including points between those of the grid. It
	// does not include points whose runs ended early (Point.Cut) without judging the law.
	Points   int
	Unjudged int    // number of these points where the law was not judged
	Counter  *Point // first point where the law had an outcome other than the claimed one; nil if there is none
	// Seed is a seed that shows the failure at the point Counter. If the claim was that the law holds, it is the lowest
	// seed whose run broke the law. Otherwise, it is the sweep's first seed.
	Seed uint64
	// True reports for each grid point whether the condition is true there. Turns lists the positions between grid
	// points where the condition changes.
	True  []bool
	Turns []Turn
}

// Turn is a position between two neighboring grid points where a condition becomes true or false.
type Turn struct {
	Point int // index in the grid of the point before the change
	Axis  int
	At    Level // the tried value nearest to the change for which the condition is true
}

// count adds the outcome at point p, where the condition is true, to the result. firstSeed is the sweep's first seed.
func (a *Asserted) count(p *Point, firstSeed uint64) {
	state := p.State(a.Law)
	if state == Invalid || state == Unjudged && p.Cut {
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
		a.Counter, a.Seed = p, firstSeed
		if broken := Causes(p, a.Law); a.Want == checker.Holds && len(broken) > 0 {
			earlier := func(f, g campaign.Finding) int { return cmp.Compare(f.First, g.First) }
			a.Seed = slices.MinFunc(broken, earlier).First
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
