package search

import (
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// Plans draws random plans for a scenario from its mix. It must not be used by two goroutines at a time.
type Plans struct {
	scenario  *scenarios.Scenario
	generator *draw.Generator
	aim       aim
	share     int // the percentage of the plans that vary another
	guide     guide
	sampled   *nemesis.Plan     // what sample returns; nil: it was not called
	looker    *scenarios.Runner // makes the runs at which plans are aimed; nil: none so far
	// Within is the time in which faults strike, from the start of a run.
	Within time.Duration
}

// Guides reports whether runs guide plans in a search of so many seeds. Where these are less than a block they do not:
// to find out what guides a plan would take longer than to run all of them.
func Guides(s *scenarios.Scenario, seeds int) bool { return s.Mix.Guided > 0 && seeds >= together }

// NewGuidedPlans prepares to draw the plans of a search: as many as the mix says vary others whose runs came close to
// breaking a law. The errors are those of NewPlans.
func NewGuidedPlans(s *scenarios.Scenario) (*Plans, error) {
	p, err := NewPlans(s)
	if err == nil {
		p.share = s.Mix.Guided
	}
	return p, err
}

// NewPlans prepares to draw plans freely, each by itself. Where the scenario does not say within what time faults
// strike, it runs once without any and takes the time until its clients are done. The error wraps draw.ErrNothing if
// the mix can draw nothing.
func NewPlans(s *scenarios.Scenario) (*Plans, error) {
	p := &Plans{scenario: s, Within: s.Within}
	if p.Within == 0 {
		var err error
		if p.Within, err = undisturbed(s); err != nil {
			return nil, err
		}
	}
	var err error
	p.generator, err = draw.NewGenerator(s.Mix, s.Targets(), p.Within)
	return p, err
}

// calm is the seed of the run without faults. One will do: its length is a measure, not a bound.
const calm = 1

// undisturbed is how long the clients work when nothing goes wrong, in whole milliseconds, rounded up.
func undisturbed(s *scenarios.Scenario) (time.Duration, error) {
	r, err := scenarios.NewRunner(s).Run(nemesis.Plan{Scenario: s.Name, Seed: calm})
	if err != nil {
		return 0, fmt.Errorf("%s without faults: %w", s.Name, err)
	}
	clients := s.Targets().Clients
	var last history.Time
	for i := range r.History.Events {
		if e := &r.History.Events[i]; slices.Contains(clients, e.Process) {
			last = e.Time
		}
	}
	return min(last.Duration().Truncate(time.Millisecond)+time.Millisecond, s.Limit), nil
}

// Plan is what the given seed strikes with: the faults and the run's own draws.
func (p *Plans) Plan(seed uint64) nemesis.Plan {
	if p.share > 0 {
		return p.guided(seed)
	}
	return p.drawn(seed)
}

// drawn is the plan that is drawn for a seed, whatever other runs have shown.
func (p *Plans) drawn(seed uint64) nemesis.Plan {
	plan := p.of(seed, p.generator.Draw(seed))
	if p.scenario.Mix.Aimed == 0 {
		return plan
	}
	if base := baseOf(seed); !p.aim.known || p.aim.seed != base {
		p.aim.known, p.aim.seed = true, base
		p.aim.at(p.look(p.of(base, nil)))
	}
	if len(p.aim.kinds) > 0 {
		plan.Seed = p.aim.seed
		p.turn(plan.Faults, archer{&p.aim, sim.NewStream(seed, "aim"), p.scenario.FromLibrary()})
	}
	return plan
}

// turn aims as many of the faults as the mix says.
func (p *Plans) turn(faults []nemesis.Fault, a archer) {
	for i, f := range faults {
		if a.below(100) >= p.scenario.Mix.Aimed {
			continue
		}
		if f = a.turn(f); p.generator.Allows(f) {
			faults[i] = f
		}
	}
}

// look makes the run of a plan to see what happens in it.
func (p *Plans) look(plan nemesis.Plan) (scenarios.Result, error) {
	if p.looker == nil {
		p.looker = scenarios.NewRunner(p.scenario)
		p.looker.ReportSent(true)
	}
	return p.looker.Run(plan)
}

// PlanOf is the plan that the bytes of a fuzzing engine describe, with the given seed for the run's own draws.
func (p *Plans) PlanOf(seed uint64, data []byte) nemesis.Plan {
	return p.of(seed, p.generator.DrawBytes(data))
}

func (p *Plans) of(seed uint64, faults []nemesis.Fault) nemesis.Plan {
	return nemesis.Plan{Scenario: p.scenario.Name, Seed: seed, Faults: faults}
}
