package search

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/shrink"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// mostRuns returns the maximum number of runs in Shrink if the caller does not set a limit. Most calls need a few
// hundred. A run of a modeled lock takes about a millisecond, and a run of programs up to a second.
func mostRuns(s *scenarios.Scenario) int {
	if s.OfPrograms() {
		return 500
	}
	return 20_000
}

// Violation identifies, by law and cause, the violation that Shrink must preserve.
type Violation struct {
	Law   checker.Law
	Cause checker.Cause
	// Accepts, if set, reports whether a history with the violation should be accepted. It must depend only on the
	// history.
	Accepts func(*history.History) bool
}

// in reports whether a history shows the violation, given what the checker found about the law.
func (v Violation) in(h *history.History, f *checker.Finding) bool {
	return f.By(v.Cause) != nil && (v.Accepts == nil || v.Accepts(h))
}

// Shrunk is a violation together with a minimal scenario and minimal faults that still cause it.
type Shrunk struct {
	Law   checker.Law
	Cause checker.Cause
	First nemesis.Plan // the plan as it was found
	// Plan is the shrunk version of First. It refers to the shrunk scenario by name.
	Plan nemesis.Plan
	// Scenario is the shrunk version of the scenario. It contains the faults of Plan and expects the law to hold. So
	// running its Text with Plan's seed fails until the lock is fixed.
	Scenario *scenarios.Scenario
	Finding  checker.Finding // the checker's finding on the law in the run of Plan
	Digest   sim.Digest      // digest of that run
	Often    int             // number of seeds from 1 to shrink.OtherSeeds that show the violation
	Runs     int             // number of runs that the shrink took
	Ending   campaign.Ending // Complete if nothing else can be removed or simplified
}

// Shrink reduces a plan that shows a violation, and its scenario, to a smaller plan and scenario that still show it. In
// the result, no fault can be removed or simplified any further (shrink.Shrink says how far), and no client, cycle,
// write or lock can be removed. Shrink ignores the scenario's own faults and expectations. At the end, it prints the
// result, parses it and runs it once more. Unless ctx interrupts Shrink, the result depends only on the arguments.
//
// runs is the maximum number of runs; 0 means mostRuns(s). If Shrink reaches this limit or ctx is done, it returns the
// smallest plan and scenario found so far, and sets Ending accordingly. If ctx is done from the start, the result is
// the violation as it was found. Shrink returns an error if the plan is not valid for the scenario or if a run fails.
// It returns an *UnrepeatedError if a run that should show the violation does not.
func Shrink(ctx context.Context, s *scenarios.Scenario, plan nemesis.Plan, v Violation, runs int) (*Shrunk, error) {
	if err := plan.Validate(s.Targets()); err != nil {
		return nil, err
	}
	if runs <= 0 {
		runs = mostRuns(s)
	}
	sh := &shrinker{ctx: ctx, violation: v, most: runs, original: s, subjects: map[string]*subject{}}
	doc, err := format.ParseDocument(s.Path, s.Text())
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"faults", "mix", "promise", "expect"} {
		doc.Remove(key)
	}
	doc.Set("name", nameOf(s.Name, v.Law, v.Cause))
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
		return nil, &UnrepeatedError{Law: v.Law, Cause: v.Cause,
			Why: "the run did not show the violation when it was repeated"}
	}
	subject, small = sh.shrink(subject, small)
	return sh.result(s, plan, subject, small)
}

// UnrepeatedError reports that a violation occurred in a run, but not when the run was repeated. This means that the
// client's code behaves differently from one run to the next, even with the same plan.
type UnrepeatedError struct {
	Law   checker.Law
	Cause checker.Cause
	Why   string // what was different the second time, as the end of a sentence about the violation
}

// Error returns a message that names the violation and says what was different.
func (e *UnrepeatedError) Error() string { return fmt.Sprintf("%s: %s: %s", e.Law, e.Cause, e.Why) }

// shrink alternates between reducing the plan and reducing the scenario. It simplifies the faults only after removing
// what it can from both. A simplified fault may wait for a point in a certain client's code, and this client could then
// no longer be removed.
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

// nameOf returns a name for the scenario that shows a violation. The name consists of the original scenario's name, the
// law and the cause. If it would be longer than 64 characters, the original name is truncated.
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
