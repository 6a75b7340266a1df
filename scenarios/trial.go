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

// Planned gives the place in a plan of the fault that struck at event e, -1 if it is none of the plan: a failover that a
// Sentinel decided.
func Planned(p nemesis.Plan, e *history.Event) int {
	return slices.IndexFunc(p.Faults, func(f nemesis.Fault) bool {
		text := f.String()
		return text == e.Value || f.Kind == nemesis.FailOver && strings.HasPrefix(text, e.Value+" ")
	})
}

// SameViolation reports whether two findings are of the same violation: of one law, by one cause, of one lock, between the
// same processes.
func SameViolation(a, b checker.Finding) bool {
	return a.Outcome == checker.Violated && b.Outcome == checker.Violated && a.Law == b.Law && a.Cause == b.Cause &&
		a.Lock == b.Lock && slices.Equal(a.Holders, b.Holders)
}
