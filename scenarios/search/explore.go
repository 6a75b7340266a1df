package search

import (
	"context"
	"fmt"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
)

// Drawn holds the Result fields that are used only if the search draws its faults at random.
type Drawn struct {
	// Within is the period, from the start of a run, in which faults may strike. It is 0 in records of versions that
	// did not store it.
	Within    time.Duration    `json:"within,omitempty"`
	Undecided int              `json:"undecided"` // number of runs in which some law was undecided
	Empty     int              `json:"empty"`     // number of runs without faults, or with only excluded ones
	Faults    []campaign.Fault `json:"faults"`    // in the order of nemesis.Kinds
	// Differing counts the blocks of plans in which a repeated run had a different result. From then on, the results of
	// earlier runs no longer guided the plans of that block (see Guides).
	Differing Differing `json:"differing"`
	Closest   Closest   `json:"closest"`

	// plans contains the plans of the findings' first seeds, by seed, if the search is guided and this process has run
	// them.
	plans map[uint64]nemesis.Plan
}

// Differing counts the blocks of seeds in which a repeated run had a different result. To find out, each block repeats
// at least the run of the first plan that it varies.
type Differing struct {
	Blocks int    `json:"blocks"`
	First  uint64 `json:"first"` // the lowest seed of a run with a different result
}

// String describes the runs with different results, as a sentence without a final period.
func (d Differing) String() string {
	return fmt.Sprintf("the run with seed %d was different when it was repeated, "+
		"so in %s of %d seeds, the search was not guided", d.First, text.Count(d.Blocks, "block"), together)
}

func (d *Differing) add(more Differing) {
	if more.Blocks > 0 && (d.Blocks == 0 || more.First < d.First) {
		d.First = more.First
	}
	d.Blocks += more.Blocks
}

// NewExploration prepares to run the given number of seeds (at least 1), starting with firstSeed. It returns an error
// if the mix cannot draw any fault, if there are not that many seeds, or if the fault-free run failed.
func NewExploration(s *scenarios.Scenario, firstSeed uint64, seeds int, shard Shard) (*Result, error) {
	free := !Guides(s, seeds)
	plans, err := (&Span{Free: free}).Plans(s)
	if err != nil {
		return nil, err
	}
	span, err := newSpan(s, plans.sample(), firstSeed, seeds, shard)
	if err != nil {
		return nil, err
	}
	span.Free = free
	e := newExploration(span)
	e.Within = plans.Within
	return e, nil
}

// newExploration returns an exploration for the span's seeds, with all counts at zero.
func newExploration(span Span) *Result {
	return &Result{Span: span, Laws: campaign.NewLaws(checker.Laws), Drawn: &Drawn{Faults: campaign.NewFaults()}}
}

// explorer holds what one worker needs to run and judge plans.
type explorer struct {
	scenario *scenarios.Scenario
	plans    *Plans
	runner   *scenarios.Runner
	checker  checker.Checker
	strikes  campaign.Strikes
	margins  margin.Reader
}

func newExplorer(s *scenarios.Scenario, of *Span) (*explorer, error) {
	plans, err := of.Plans(s)
	if err != nil {
		return nil, err
	}
	runner := scenarios.NewRunner(s)
	runner.ReportSent(true)
	return &explorer{scenario: s, plans: plans, runner: runner}, nil
}

// explore runs r's seeds. It stops early when ctx is done.
func (w *explorer) explore(ctx context.Context, r Range) (*Result, error) {
	part := newExploration(Span{})
	for i := range r.count() {
		if isDone(ctx) {
			break
		}
		seed := r.First + uint64(i)
		part.Ran = Ranges{{r.First, seed}}
		plan := w.plans.Plan(seed)
		if of := w.plans.differing(seed); of != nil {
			part.Differing.add(Differing{1, *of})
		}
		if len(plan.Faults) == 0 {
			part.Empty++
		}
		result, err := w.runner.Run(plan)
		if part.Failed.note(seed, err) {
			w.plans.Learn(seed, Judged{})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w\n%s", seed, err, plan)
		}
		verdict := w.checker.Check(result.History)
		calls := w.margins.Read(w.checker.Trace(result.History), &verdict, result.Sent)
		w.plans.Learn(seed, Judged{&result, calls})
		result.Qualify(verdict)
		if part.count(seed, verdict, w.scenario.Promise) {
			part.Undecided++
		}
		part.Closest.Note(seed, &plan, calls)
		if w.plans.share > 0 {
			part.keep(map[uint64]nemesis.Plan{seed: plan})
		}
		if !w.plans.Free(seed) {
			part.Laws.CountGuided(verdict, w.scenario.Promise)
		}
		w.strikes.Count(part.Faults, plan.Faults, result.History)
	}
	return part, nil
}

// add adds the results of other runs in the same exploration.
func (d *Drawn) add(part *Drawn) {
	d.Within = max(d.Within, part.Within)
	d.Undecided += part.Undecided
	d.Empty += part.Empty
	for i := range d.Faults {
		t, p := &d.Faults[i], &part.Faults[i]
		t.Drawn += p.Drawn
		t.Struck += p.Struck
		t.Met += p.Met
	}
	d.Differing.add(part.Differing)
	d.Closest.Add(part.Closest)
}

// keep stores the plan for each finding's first seed, because drawing a guided plan again would require repeating all
// earlier runs in the plan's block.
func (r *Result) keep(plans map[uint64]nemesis.Plan) {
	before := r.plans
	r.plans = nil
	for _, f := range r.Findings {
		for _, some := range []map[uint64]nemesis.Plan{before, plans} {
			if plan, known := some[f.First]; known {
				if r.plans == nil {
					r.plans = map[uint64]nemesis.Plan{}
				}
				r.plans[f.First] = plan
			}
		}
	}
}

// PlanOf returns a finding's plan. If the plan was not kept (see keep), PlanOf draws it again with plans.
func (d *Drawn) PlanOf(f campaign.Finding, plans *Plans) nemesis.Plan {
	if plan, known := d.plans[f.First]; known {
		return plan
	}
	return plans.Plan(f.First)
}

// allFaults returns the counts for all kinds of faults added together.
func (d *Drawn) allFaults() (all campaign.Fault) {
	for _, t := range d.Faults {
		all.Drawn, all.Struck, all.Met = all.Drawn+t.Drawn, all.Struck+t.Struck, all.Met+t.Met
	}
	return all
}
