package single

import (
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// mostRaised is how many times the limit may be doubled.
const mostRaised = 4

// raise handles the laws that v leaves undecided because p's run reached its limit. It repeats the run with limits up
// to 16 times as long. If a repetition decides a law, raise adds the new limit and the outcome to the law's
// explanation. Otherwise, it adds nothing.
func raise(s *scenarios.Scenario, p nemesis.Plan, v *checker.Verdict) error {
	var open []*checker.Finding
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Outcome == checker.Undecided {
			open = append(open, f)
		}
	}
	raised := *s
	for range mostRaised {
		if raised.Limit *= 2; len(open) == 0 || raised.Limit > nemesis.MaxDuration {
			break
		}
		r, err := scenarios.NewRunner(&raised).Run(p)
		if err != nil {
			return err
		}
		again := checker.Check(r.History)
		var left []*checker.Finding
		for _, f := range open {
			now := again.Of(f.Law)
			if now.Outcome != checker.Holds && now.Outcome != checker.Violated {
				left = append(left, f)
				continue
			}
			outcome := "holds"
			if now.Outcome == checker.Violated {
				outcome = "is violated by " + now.Cause.String() + now.Also()
			}
			f.Explanation += fmt.Sprintf(" Raise limit from %s to %s: then it %s.", nemesis.FormatDuration(s.Limit),
				nemesis.FormatDuration(raised.Limit), outcome)
		}
		open = left
	}
	return nil
}
