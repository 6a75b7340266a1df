package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Hunted is what a hunt came to.
type Hunted struct {
	Caught bool        // some run broke a law that the scenario promises
	Cut    bool        // ctx ended the hunt before a run did, with some seeds left
	Seeds  int         // how many runs that took, the breaking one included; all that were made if none did
	Law    checker.Law // the first that it broke, in the order of checker.Laws
	Cause  checker.Cause
}

// hunt runs random plans on a scenario, the first seed from on, until a run breaks a law that the scenario promises,
// and at most so many. It ends early when ctx is done.
func hunt(ctx context.Context, s *scenarios.Scenario, from uint64, seeds int) (Hunted, error) {
	plans, err := NewPlans(s)
	if err != nil {
		return Hunted{}, err
	}
	promised := slices.DeleteFunc(slices.Clone(checker.Laws),
		func(l checker.Law) bool { return !slices.Contains(s.Promise.Laws, l) })
	r := scenarios.NewRunner(s)
	var judge checker.Checker
	for n := range seeds {
		if ctx.Err() != nil {
			return Hunted{Cut: true, Seeds: n}, nil
		}
		seed := from + uint64(n)
		plan := plans.Plan(seed)
		result, err := r.Run(plan)
		if err != nil {
			return Hunted{}, fmt.Errorf("seed %d: %w\n%s", seed, err, plan)
		}
		for _, f := range judge.CheckOnly(result.History, promised).Findings {
			if f.Outcome == checker.Violated && !s.Promise.Excuses(f.Cause) {
				return Hunted{Caught: true, Seeds: n + 1, Law: f.Law, Cause: f.Cause}, nil
			}
		}
	}
	return Hunted{Seeds: seeds}, nil
}

// Hunts hunts through the scenarios on the given number of workers (0: one a core) and hands out what they came to in
// their order. around, if not nil, is called in place of each hunt, on its worker, and calls it: whoever wants to can
// time it there. It stops early when ctx is done, which cuts the hunts under way, or at the first error.
func Hunts(ctx context.Context, list []*scenarios.Scenario, from uint64, seeds, workers int,
	around func(i int, hunt func()), take func(i int, p Hunted) error) error {
	if around == nil {
		around = func(_ int, hunt func()) { hunt() }
	}
	start := func() func(int) (Hunted, error) {
		return func(i int) (p Hunted, err error) {
			around(i, func() { p, err = hunt(ctx, list[i], from, seeds) })
			if err != nil {
				err = fmt.Errorf("%s: %w", list[i].Name, err)
			}
			return p, err
		}
	}
	_, err := campaign.InOrder(ctx, workers, len(list), start, take)
	return err
}
