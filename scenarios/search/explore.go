package search

import (
	"context"
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
)

// Exploration sums up what random plans have done to a scenario so far. It keeps only counts of its runs, so its size
// does not grow with the number of seeds. Every other detail of a run can be obtained by running its seed again.
type Exploration struct {
	Span
	Undecided int               `json:"undecided"` // number of runs in which some law was undecided
	Empty     int               `json:"empty"`     // number of runs without a drawn fault, or with all of them excluded
	Laws      campaign.Laws     `json:"laws"`      // in the order of checker.Laws
	Faults    []campaign.Fault  `json:"faults"`    // in the order of nemesis.Kinds
	Findings  campaign.Findings `json:"findings"`  // ordered by the lowest seed
	Failed    Failed            `json:"failed"`    // these runs are counted nowhere else except in Ran and Empty
	Differing Differing         `json:"differing"` // blocks in which a run was not repeatable, so plans were not guided
	Closest   Closest           `json:"closest"`

	plans map[uint64]nemesis.Plan // guided plans of findings that this process has found, by the seed
}

// Differing counts the blocks of seeds in which a run was repeated in order to vary its plan, and came out different.
type Differing struct {
	Blocks int    `json:"blocks"`
	First  uint64 `json:"first"` // the lowest seed of such runs
}

// String reports the differing runs in a sentence without a full stop.
func (d Differing) String() string {
	return fmt.Sprintf("the run of seed %d was different when it was made again: in %s of %d seeds the search went on "+
		"without what runs show", d.First, text.Count(d.Blocks, "block"), together)
}

func (d *Differing) add(more Differing) {
	if more.Blocks > 0 && (d.Blocks == 0 || more.First < d.First) {
		d.First = more.First
	}
	d.Blocks += more.Blocks
}

// NewExploration prepares to run the given number of seeds (at least 1), beginning with from. It returns an error if
// the mix can draw no fault, if there are not that many seeds, or if the fault-free run failed.
func NewExploration(s *scenarios.Scenario, from uint64, seeds int, shard Shard) (*Exploration, error) {
	free := !Guides(s, seeds)
	plans, err := (&Span{Free: free}).Plans(s)
	if err != nil {
		return nil, err
	}
	span, err := newSpan(s, plans.sample(), from, seeds, shard)
	if err != nil {
		return nil, err
	}
	span.Free = free
	return newExploration(span), nil
}

// newExploration returns an exploration of the span with all counts at zero.
func newExploration(span Span) *Exploration {
	return &Exploration{Span: span, Laws: campaign.NewLaws(checker.Laws), Faults: campaign.NewFaults()}
}

// Run continues the exploration on the given number of workers (0: one per core), until all seeds are done or ctx is
// done. Each time it has added the results of a portion to e, it calls counted, unless that is nil. The result does not
// depend on the workers, the portions or interruptions.
func (e *Exploration) Run(ctx context.Context, s *scenarios.Scenario, workers int, counted func()) error {
	return runPortions(ctx, e.Span, workers, e.portion(), func() func(Range) (*Exploration, error) {
		w, err := newExplorer(s, &e.Span)
		return func(r Range) (*Exploration, error) {
			if err != nil {
				return nil, err
			}
			return w.explore(ctx, r)
		}
	}, func(part *Exploration) {
		e.add(part)
		if counted != nil {
			counted()
		}
	})
}

// explorer is what one worker needs to run and judge plans.
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

// explore runs the seeds of r, or, once ctx is done, no more of them.
func (w *explorer) explore(ctx context.Context, r Range) (*Exploration, error) {
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
		part.count(seed, verdict, w.scenario.Promise)
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

// count adds the verdict on one run.
func (e *Exploration) count(seed uint64, v checker.Verdict, p checker.Promise) {
	if e.Laws.Count(v) {
		e.Undecided++
	}
	e.Laws.Excuse(v, p)
	e.Findings.Count(seed, v)
}

// add adds the results of another part of the same exploration.
func (e *Exploration) add(part *Exploration) {
	e.Ran = e.Ran.with(part.Ran)
	e.Undecided += part.Undecided
	e.Empty += part.Empty
	e.Laws.Add(part.Laws)
	for i := range e.Faults {
		t, p := &e.Faults[i], &part.Faults[i]
		t.Drawn += p.Drawn
		t.Struck += p.Struck
		t.Met += p.Met
	}
	e.Findings.Add(part.Findings)
	e.Failed.add(part.Failed)
	e.Differing.add(part.Differing)
	e.Closest.Add(part.Closest)
	e.keep(part.plans)
}

// keep keeps the plans of the findings' first seeds. To draw a guided plan again takes all runs before it in its block.
func (e *Exploration) keep(plans map[uint64]nemesis.Plan) {
	before := e.plans
	e.plans = nil
	for _, f := range e.Findings {
		for _, some := range []map[uint64]nemesis.Plan{before, plans} {
			if plan, known := some[f.First]; known {
				if e.plans == nil {
					e.plans = map[uint64]nemesis.Plan{}
				}
				e.plans[f.First] = plan
			}
		}
	}
}

// PlanOf returns the plan of a finding. plans draws it if another process has found it.
func (e *Exploration) PlanOf(f campaign.Finding, plans *Plans) nemesis.Plan {
	if plan, known := e.plans[f.First]; known {
		return plan
	}
	return plans.Plan(f.First)
}

// drawn returns how many faults, over all kinds, were drawn, how many struck, and how many struck while a lock was held
// or requested.
func (e *Exploration) drawn() (drawn, struck, met int) {
	for _, t := range e.Faults {
		drawn, struck, met = drawn+t.Drawn, struck+t.Struck, met+t.Met
	}
	return drawn, struck, met
}
