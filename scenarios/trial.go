package scenarios

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// Trial takes faults away from plans and runs them again, to learn which of them a violation needs. It is not safe for
// concurrent use.
type Trial struct {
	runner  *Runner
	checker checker.Checker
}

// NewTrial prepares to run s again.
func NewTrial(s *Scenario) *Trial { return &Trial{runner: NewRunner(s)} }

// Without judges one law on the run of p without some of its faults, given by their places in the plan.
func (t *Trial) Without(p nemesis.Plan, law checker.Law, drop ...int) (checker.Finding, error) {
	var left []nemesis.Fault
	for i := range p.Faults {
		if !slices.Contains(drop, i) {
			left = append(left, p.Faults[i])
		}
	}
	p.Faults = left
	r, err := t.runner.Run(p)
	if err != nil {
		return checker.Finding{}, err
	}
	return t.checker.CheckOnly(r.History, []checker.Law{law}).Findings[0], nil
}

// Planned gives the places in a plan of the faults that may have struck at event e. They are several if their lines are the
// same, or if they are failovers, whose record does not say what set them off; none if a Sentinel decided it.
func Planned(p nemesis.Plan, e *history.Event) []int {
	var places []int
	for i := range p.Faults {
		text := p.Faults[i].String()
		if text == e.Value || p.Faults[i].Kind == nemesis.FailOver && strings.HasPrefix(text, e.Value+" ") {
			places = append(places, i)
		}
	}
	return places
}

// SameViolation reports whether two findings are of the same violation: of one law, by one cause, of one lock, between the
// same processes.
func SameViolation(a, b checker.Finding) bool {
	return a.Outcome == checker.Violated && b.Outcome == checker.Violated && a.Law == b.Law && a.Cause == b.Cause &&
		a.Lock == b.Lock && slices.Equal(a.Holders, b.Holders)
}

// Needed tells whether a finding on the run of p needs the fault at place i of the plan. alone: without it the same
// violation does not come about. together: it does, but there are others such that it does not without all of them and i,
// and does again with i (others in their order, as few as that takes).
func (t *Trial) Needed(p nemesis.Plan, f checker.Finding, i int, others []int) (alone, together bool, err error) {
	remains := func(drop ...int) bool {
		g, e := t.Without(p, f.Law, drop...)
		if e != nil {
			err = e
		}
		return SameViolation(f, g)
	}
	if !remains(i) {
		return true, false, err
	}
	drop := append([]int{i}, others...)
	if len(others) == 0 || remains(drop...) {
		return false, false, err
	}
	for n := len(drop) - 1; n > 0; n-- {
		if fewer := slices.Delete(slices.Clone(drop), n, n+1); !remains(fewer...) {
			drop = fewer
		}
	}
	return false, len(drop) > 1 && remains(drop[1:]...), err
}
