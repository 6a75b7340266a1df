package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// FirstViolation is the result of a search for the first seed that breaks a promise.
type FirstViolation struct {
	Found       bool
	Interrupted bool        // ctx ended the search before a run did, with some seeds left
	Runs        int         // how many were made, the violating one included
	Law         checker.Law // the first that was broken, in the order of checker.Laws
	Cause       checker.Cause
}

// FindFirst runs random plans on a scenario, the first seed from on, until a run breaks a law that the scenario
// promises, and at most so many. It ends early when ctx is done. An error names the seed whose run failed.
func FindFirst(ctx context.Context, s *scenarios.Scenario, from uint64, seeds int) (FirstViolation, error) {
	plans, err := NewPlans(s)
	if err != nil {
		return FirstViolation{}, err
	}
	promised := slices.DeleteFunc(slices.Clone(checker.Laws),
		func(l checker.Law) bool { return !slices.Contains(s.Promise.Laws, l) })
	r := scenarios.NewRunner(s)
	var judge checker.Checker
	for n := range seeds {
		if ctx.Err() != nil {
			return FirstViolation{Interrupted: true, Runs: n}, nil
		}
		seed := from + uint64(n)
		plan := plans.Plan(seed)
		result, err := r.Run(plan)
		if err != nil {
			return FirstViolation{}, fmt.Errorf("seed %d: %w\n%s", seed, err, plan)
		}
		plans.Learn(seed, &result)
		v := judge.CheckOnly(result.History, promised)
		for i := range v.Findings {
			if b := s.Promise.BrokenBy(&v.Findings[i]); b != nil {
				return FirstViolation{Found: true, Runs: n + 1, Law: b.Law, Cause: b.Cause}, nil
			}
		}
	}
	return FirstViolation{Runs: seeds}, nil
}
