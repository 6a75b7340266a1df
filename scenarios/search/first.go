package search

import (
	"context"
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
)

// FirstViolation is the result of searching for the first seed for which the run breaks a promise.
type FirstViolation struct {
	Found       bool
	Interrupted bool        // ctx was done before a violation was found and before all seeds were run
	Runs        int         // number of runs performed, including the one with the violation
	Law         checker.Law // the first law broken in that run, in the order of checker.Laws
	Cause       checker.Cause
	Plan        string // plan of that run, in the format that ParsePlan reads
}

// FindFirst runs random plans on a scenario, one for each seed, starting with firstSeed. It stops at the first run that
// breaks a law that the scenario promises, after the given number of seeds, or when ctx is done. If a run fails, the
// error names its seed.
func FindFirst(ctx context.Context, s *scenarios.Scenario, firstSeed uint64, seeds int) (first FirstViolation,
	err error) {
	first.Runs, err = Each(ctx, s, firstSeed, seeds, func(p *nemesis.Plan, v *checker.Verdict) bool {
		for i := range v.Findings {
			if b := s.Promise.BrokenBy(&v.Findings[i]); b != nil {
				first.Found, first.Law, first.Cause, first.Plan = true, b.Law, b.Cause, p.String()
				return false
			}
		}
		return true
	})
	first.Interrupted = !first.Found && err == nil && first.Runs < seeds
	return first, err
}

// Each performs the same runs as an exploration of the given seeds, one after the other. After each run, it passes the
// plan and verdict to judged. It stops when judged returns false or ctx is done, and returns the number of runs
// performed. If a run fails, the error names its seed.
func Each(ctx context.Context, s *scenarios.Scenario, from uint64, seeds int,
	judged func(*nemesis.Plan, *checker.Verdict) bool) (runs int, err error) {
	plans, err := (&Span{Free: !Guides(s, seeds)}).Plans(s)
	if err != nil {
		return 0, err
	}
	r := scenarios.NewRunner(s)
	r.ReportSent(true)
	var judge checker.Checker
	var margins margin.Reader
	for runs < seeds && ctx.Err() == nil {
		seed := from + uint64(runs)
		plan := plans.Plan(seed)
		result, err := r.Run(plan)
		if err != nil {
			return runs, fmt.Errorf("seed %d: %w\n%s", seed, err, plan)
		}
		v := judge.Check(result.History)
		if plans.share > 0 {
			plans.Learn(seed, Judged{&result, margins.Read(judge.Trace(result.History), &v, result.Sent)})
		}
		if runs++; !judged(&plan, &v) {
			break
		}
	}
	return runs, nil
}
