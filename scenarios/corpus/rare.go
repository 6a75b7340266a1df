package corpus

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/nemesis/shrink"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// Rare explains why a mutant is seldom caught: it lists which faults were needed in the first plan that caught the
// mutant, and says how rarely such faults are drawn.
type Rare struct {
	Mutant string
	Law    checker.Law
	Cause  checker.Cause
	Plan   nemesis.Plan // the smallest plan
	Often  int          // number of seeds, from 1 to shrink.OtherSeeds, with which these faults also break the promise
	Struck []Struck     // one for each fault of Plan
}

// Struck is one of a plan's faults, with the numbers of runs that still break the same promise after another fault has
// replaced it.
type Struck struct {
	Fault nemesis.Fault
	// Places counts the trials in which the fault struck at another time or, if it affects one message, struck another
	// message of the fault-free run. These times or messages are spread evenly over the run.
	Places Tries
	Drawn  Tries // replacements by faults of the same kind, drawn from the mix
}

// Tries counts replacements of a fault: how many were tried, and after how many of them the run still broke the same
// promise for the same cause.
type Tries struct{ Tried, Broke int }

const (
	slowest    = 5
	shrinkRuns = 4000 // maximum number of runs for shrinking a plan
	tries      = 200  // maximum number of replacements of each kind
)

// explain finds out why the mutants that took the most runs to catch are so hard to catch.
func (c *Corpus) explain(ctx context.Context) error {
	list := c.caught()
	slices.SortStableFunc(list, func(a, b MutantResult) int {
		return cmp.Compare(estimated(b.Searches).average(), estimated(a.Searches).average())
	})
	for _, m := range list[:min(len(list), slowest)] {
		if ctx.Err() != nil {
			return nil
		}
		r, err := rarity(ctx, &m.Mutant, m.firstCatch())
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		c.Slowest = append(c.Slowest, r)
	}
	return nil
}

// rarity finds out which faults a mutant needs to break the promise that it broke in the search.
func rarity(ctx context.Context, m *Mutant, found *search.FirstViolation) (r Rare, err error) {
	s, err := m.scenario()
	if err != nil {
		return r, err
	}
	plans, err := search.NewPlans(s)
	if err != nil {
		return r, err
	}
	plan, err := nemesis.ParsePlan("plan", []byte(found.Plan))
	if err != nil {
		return r, err
	}
	t := &striker{ctx: ctx, scenario: s, runner: scenarios.NewRunner(s), law: found.Law, cause: found.Cause,
		left: shrinkRuns}
	r = Rare{Mutant: m.Name, Law: found.Law, Cause: found.Cause,
		Plan: shrink.Shrink(plan, s.Targets(), t.breaks)}
	t.left = math.MaxInt
	r.Often = shrink.Often(r.Plan, t.breaks)
	for i := range r.Plan.Faults {
		struck, err := t.replace(r.Plan, i, plans.Within)
		if err != nil {
			return r, err
		}
		r.Struck = append(r.Struck, struck)
	}
	return r, t.err
}

// striker runs plans and checks whether they violate a given law for a given cause.
type striker struct {
	ctx      context.Context
	scenario *scenarios.Scenario
	runner   *scenarios.Runner
	judge    checker.Checker
	law      checker.Law
	cause    checker.Cause
	left     int // number of runs left
	err      error
}

// breaks reports whether a run of the plan violates the same law for the same cause as in the search. It returns false
// if the mix excludes one of the plan's faults.
func (t *striker) breaks(p nemesis.Plan) bool {
	names := t.scenario.Targets()
	excluded := func(f nemesis.Fault) bool {
		return slices.ContainsFunc(t.scenario.Mix.Without,
			func(x nemesis.Exclusion) bool { return x.Covers(f, &names) })
	}
	if t.err != nil || t.left == 0 || t.ctx.Err() != nil || slices.ContainsFunc(p.Faults, excluded) {
		return false
	}
	t.left--
	result, err := t.runner.Run(p)
	if err != nil {
		t.err = err
		return false
	}
	f := t.judge.CheckOnly(result.History, []checker.Law{t.law}).Findings[0]
	return f.By(t.cause) != nil
}

// replace runs the plan with other faults instead of its ith fault, and counts the runs in which the promise is still
// broken.
func (t *striker) replace(p nemesis.Plan, i int, within time.Duration) (s Struck, err error) {
	s.Fault = p.Faults[i]
	places := instants(s.Fault, within)
	if ofMessage(s.Fault) {
		if places, err = t.messages(s.Fault, p.Seed); err != nil {
			return s, err
		}
	}
	s.Places = t.try(p, i, places)
	drawn, err := t.drawn(s.Fault.Kind, within)
	if err != nil {
		return s, err
	}
	s.Drawn = t.try(p, i, drawn)
	return s, nil
}

// ofMessage reports whether a fault strikes one particular message.
func ofMessage(f nemesis.Fault) bool { return !f.Kind.Has(nemesis.FieldTrigger) }

// try runs the plan with each of the given faults instead of its ith fault.
func (t *striker) try(p nemesis.Plan, i int, faults []nemesis.Fault) (tried Tries) {
	for _, f := range faults {
		p.Faults = slices.Clone(p.Faults)
		if p.Faults[i] = f; p.Validate(t.scenario.Targets()) != nil {
			continue
		}
		if tried.Tried++; t.breaks(p) {
			tried.Broke++
		}
	}
	return tried
}

func instants(f nemesis.Fault, within time.Duration) (all []nemesis.Fault) {
	for n := range tries {
		f.Trigger = nemesis.Trigger{Time: within * time.Duration(2*n+1) / (2 * tries)}
		all = append(all, f)
	}
	return all
}

// drawn returns random faults of the given kind.
func (t *striker) drawn(k nemesis.Kind, within time.Duration) (all []nemesis.Fault, err error) {
	mix := t.scenario.Mix
	mix.Fewest, mix.Most, mix.Swarm = 1, 1, false
	mix.Weights = draw.Weights{}
	mix.Weights[k] = 1
	g, err := draw.NewGenerator(mix, t.scenario.Targets(), within)
	if err != nil {
		return nil, err
	}
	for seed := range uint64(tries) {
		all = append(all, g.Draw(seed)...) // if the mix excludes the fault, nothing is drawn
	}
	return all, nil
}

// messages returns copies of the fault, each of which strikes another request or answer of the fault-free run. If there
// are more messages than tries, it makes only that many copies, spread evenly over the messages.
func (t *striker) messages(f nemesis.Fault, seed uint64) (all []nemesis.Fault, err error) {
	runner := scenarios.NewRunner(t.scenario)
	runner.ReportSent(true)
	r, err := runner.Run(nemesis.Plan{Scenario: t.scenario.Name, Seed: seed})
	if err != nil {
		return nil, err
	}
	of := 2 * len(r.Sent)
	for n := range min(tries, of) {
		at := n * of / min(tries, of)
		all = append(all, r.Sent[at/2].Strike(f, at%2 == 1))
	}
	return all, nil
}

// explanation says which faults the mutant needs and why they are rare.
func (r *Rare) explanation() string {
	if len(r.Struck) == 0 {
		return "Needs no fault."
	}
	var faults []string
	for i := range r.Struck {
		s := &r.Struck[i]
		places := "instants"
		if ofMessage(s.Fault) {
			places = "messages"
		}
		faults = append(faults, fmt.Sprintf("%s (it breaks the promise at %d of %d %s of the run; "+
			"random faults of its kind break the promise in %d of %d attempts)",
			s.Fault, s.Places.Broke, s.Places.Tried, places, s.Drawn.Broke,
			s.Drawn.Tried))
	}
	return fmt.Sprintf("Needs %s: %s. With %d of %d other seeds, the same plan breaks the promise.",
		text.Count(len(faults), "fault"), text.Join(faults, " and "), r.Often, shrink.OtherSeeds)
}
