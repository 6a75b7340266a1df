package verify

import (
	"context"
	"errors"
	"slices"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// Sample is the result of trying random placements of one kind of fault. Schedules counts the placements in which the
// faults struck.
type Sample struct {
	Reason
	Tally
}

const (
	// samples is the maximum number of random placements tried for each kind and number of faults.
	samples = 2000
	batch   = 100 // maximum number of random placements that one job of a stage tries
	batches = samples / batch
	// draws is how many plans a job may draw for each of its placements, on average. A plan counts as a placement only
	// if it contains a fault of the job's kind and has an effect on the run.
	draws = 40
)

// sample tries random placements of n faults for each kind that is not fully enumerated.
func (v *Verification) sample(ctx context.Context, n int) error {
	_, err := v.do(ctx, &stage{Faults: n, Random: true}, func(position int, g *growth) {
		v.Random[position/batches].add(&g.Tally)
	})
	return err
}

// draw tries several random placements of n faults, at least one of them of kind k. part is the number of this batch of
// placements. All placements in a batch use the same delay assignment.
func (g *grower) draw(k nemesis.Kind, n, part int) (*growth, error) {
	if err := g.climb(&branch{assignment: part % len(g.v.Assignments)}, false); err != nil {
		return g.growth, err
	}
	plans, err := search.NewPlans(withMix(g.v.Assignments[g.assignment].Scenario, k, n))
	if errors.Is(err, draw.ErrNothing) {
		return g.growth, nil
	}
	if err != nil {
		return g.growth, err
	}
	first := uint64(part * batch * draws)
	for seed := first; seed < first+batch*draws && g.Schedules < batch && g.found == nil; seed++ {
		g.faults = plans.Plan(seed).Faults
		if !slices.ContainsFunc(g.faults, func(f nemesis.Fault) bool { return f.Kind == k }) {
			continue
		}
		result, c, err := g.run(nil, false)
		switch {
		case err != nil:
			return g.growth, err
		case c.digest == g.parent.digest:
			g.Idle++
		default:
			g.judge(result, 1)
		}
	}
	if g.found != nil {
		g.found.AtRandom = true
	}
	return g.growth, nil
}

// withMix returns s with a mix that draws n faults. About half of the faults are of kind k.
func withMix(s *scenarios.Scenario, k nemesis.Kind, n int) *scenarios.Scenario {
	drawn := *s
	m := &drawn.Mix
	m.Fewest, m.Most, m.Swarm = n, n, false
	m.Weights[k] = 0
	others := 0
	for _, w := range m.Weights {
		others += w
	}
	m.Weights[k] = max(1, min(others, draw.MaxWeight))
	return &drawn
}
