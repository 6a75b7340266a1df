package search

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/shrink"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// shrinkRuns is how many runs Shrink makes at most unless its options say otherwise. Most shrinks take a few hundred.
const shrinkRuns = 20_000

// Shrunk is a violation cut down to the smallest story that still shows it: a scenario and the faults that strike it.
type Shrunk struct {
	Law   checker.Law
	Cause checker.Cause
	First nemesis.Plan // as it was found
	// Plan is what is left of First. Its Scenario is the name of the scenario below.
	Plan nemesis.Plan
	// Scenario is what is left of the scenario, with the faults of Plan as its own and the expectation that the law
	// holds. Its Text fails with the seed of Plan until the lock is mended.
	Scenario *scenarios.Scenario
	Finding  checker.Finding // on the law, in the run of Plan
	Digest   sim.Digest      // of that run
	Often    int             // of the seeds 1 to shrink.OtherSeeds, how many show the violation under these faults
	Runs     int             // made on the way
	Ending   campaign.Ending // Complete: nothing is left that could be taken away or made simpler
}

// Shrink cuts a plan that violates a law in a scenario, whose own faults and expectations do not count, down to a fixed
// point: no fault can be taken away or made simpler (shrink.Shrink says how far), and no client, cycle, write or lock
// be taken out of the scenario, lest the law be no longer violated by the same cause. What comes out is run once more,
// from its printed texts. The result depends on the arguments alone, unless ctx interrupts it.
//
// runs is how many runs it may make, 0 for shrinkRuns; what it has reached by then is the result, and Ending says so.
// The same goes for ctx: if it is done from the start, the result is the violation as it was found. It is an error if
// the plan is not valid for the scenario, if it does not violate the law by this cause, or if a run fails.
func Shrink(ctx context.Context, s *scenarios.Scenario, plan nemesis.Plan, law checker.Law, cause checker.Cause,
	runs int) (*Shrunk, error) {
	if err := plan.Validate(s.Targets()); err != nil {
		return nil, err
	}
	if runs <= 0 {
		runs = shrinkRuns
	}
	sh := &shrinker{ctx: ctx, law: law, cause: cause, most: runs, original: s, subjects: map[string]*subject{}}
	doc, err := format.ParseDocument(s.Path, s.Text())
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"faults", "mix", "promise", "expect"} {
		doc.Remove(key)
	}
	doc.Set("name", nameOf(s.Name, law, cause))
	subject, err := sh.subject(doc)
	if err != nil {
		return nil, err
	}
	small := plan
	small.Scenario = subject.scenario.Name
	if !subject.violates(small) {
		if sh.err != nil {
			return nil, sh.err
		}
		return nil, fmt.Errorf("%s: the plan does not violate %s by %s", s.Name, law, cause)
	}
	subject, small = sh.shrink(subject, small)
	return sh.result(s, plan, subject, small)
}

// shrink alternates between the plan and the scenario. It first makes both short and then the faults simple: a fault
// that waits for a point of the last client would keep that client.
func (sh *shrinker) shrink(s *subject, p nemesis.Plan) (*subject, nemesis.Plan) {
	for {
		before, faults := s, p
		p = s.name(shrink.Reduce(p, s.fails))
		s, p = sh.reduce(s, p)
		p = shrink.Shrink(p, s.scenario.Targets(), s.fails)
		if s == before && reflect.DeepEqual(p, faults) {
			return s, p
		}
	}
}

// nameOf names the scenario that shows a violation: after the one in which it was found, the law and the cause. A name
// has at most 64 letters; what is too long is cut off the first part.
func nameOf(scenario string, law checker.Law, cause checker.Cause) string {
	const longest = 64
	why := cause.Detail
	if why == "" {
		why = string(cause.Kind)
	}
	what := "-" + string(law) + "-" + strings.ReplaceAll(why, " ", "-")
	if most := max(0, longest-len(what)); len(scenario) > most {
		scenario = strings.TrimRight(scenario[:most], "-")
	}
	name := scenario + what
	return strings.Trim(name[:min(len(name), longest)], "-")
}
