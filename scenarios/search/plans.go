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

// Plans draws random plans for a scenario from its mix. It is not safe for concurrent use.
type Plans struct {
	scenario  *scenarios.Scenario
	generator *draw.Generator
	aim       aim
	share     int // percentage of plans that vary another plan
	guide     guide
	sampled   *nemesis.Plan     // result of sample; nil before the first call
	looker    *scenarios.Runner // performs the fault-free runs at which plans are aimed; nil until needed
	// Within is the period, from the start of a run, in which faults may strike.
	Within time.Duration
}

// Guides reports whether, in a search of the given number of seeds, the results of runs guide later plans. A search
// with less than one block of seeds is not guided, because finding out what to vary would take longer than running all
// seeds.
func Guides(s *scenarios.Scenario, seeds int) bool { return s.Mix.Guided > 0 && seeds >= together }

// NewGuidedPlans prepares to draw the plans of a search. The setting "guided" of the mix is the percentage of plans
// that are variations of earlier plans whose runs came close to violating a law. The errors are the same as for
// NewPlans.
func NewGuidedPlans(s *scenarios.Scenario) (*Plans, error) {
	p, err := NewPlans(s)
	if err == nil {
		p.share = s.Mix.Guided
	}
	return p, err
}

// NewPlans prepares to draw plans that do not depend on each other. If the scenario does not limit the period in which
// faults strike, NewPlans runs it once without faults and uses the time until all clients are done. The error wraps
// draw.ErrNothing if the mix cannot draw any fault.
func NewPlans(s *scenarios.Scenario) (*Plans, error) {
	p := &Plans{scenario: s, Within: s.Within}
	if p.Within == 0 {
		var err error
		if p.Within, err = Undisturbed(s); err != nil {
			return nil, err
		}
	}
	var err error
	p.generator, err = draw.NewGenerator(s.Mix, s.Targets(), p.Within)
	return p, err
}

// calm is the seed of the fault-free run. One run is enough, because plans need only a rough idea of how long a run
// takes.
const calm = 1

// Undisturbed returns how long the clients work in a run without faults, rounded up to whole milliseconds.
func Undisturbed(s *scenarios.Scenario) (time.Duration, error) {
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

// Plan returns the plan of a seed: its faults and the seed for the random choices of the run itself.
func (p *Plans) Plan(seed uint64) nemesis.Plan {
	if p.share > 0 {
		return p.guided(seed)
	}
	return p.drawn(seed)
}

// drawn returns the plan that is drawn for a seed without considering the results of other runs.
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

// turn aims some of the faults, chosen at random, at requests and events of the fault-free run. The mix specifies the
// percentage of faults to aim.
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

// look runs a plan and returns the result.
func (p *Plans) look(plan nemesis.Plan) (scenarios.Result, error) {
	if p.looker == nil {
		p.looker = scenarios.NewRunner(p.scenario)
		p.looker.ReportSent(true)
	}
	return p.looker.Run(plan)
}

// PlanOf converts the bytes that a fuzzing engine generates into a plan. seed is the seed for the random choices of the
// run itself.
func (p *Plans) PlanOf(seed uint64, data []byte) nemesis.Plan {
	return p.of(seed, p.generator.DrawBytes(data))
}

func (p *Plans) of(seed uint64, faults []nemesis.Fault) nemesis.Plan {
	return nemesis.Plan{Scenario: p.scenario.Name, Seed: seed, Faults: faults}
}
