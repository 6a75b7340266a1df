package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// Exploration is what random plans have done to a scenario so far. It says no more of a run than can be counted, so its size
// does not grow with the number of seeds; whatever else is worth knowing of a run, its seed repeats.
type Exploration struct {
	Span
	Undecided int          `json:"undecided"` // runs in which some law could not be told
	Empty     int          `json:"empty"`     // runs for which no fault was drawn, or all of them were excluded
	Laws      []LawTally   `json:"laws"`      // in the order of checker.Laws
	Faults    []FaultTally `json:"faults"`    // in the order of nemesis.Kinds
	Findings  []Finding    `json:"findings"`  // the lowest first seed first
}

// LawTally counts how a law came out.
type LawTally struct {
	Law       checker.Law `json:"law"`
	Holds     int         `json:"holds"`
	Violated  int         `json:"violated"`
	Undecided int         `json:"undecided"`
	Unchecked int         `json:"unchecked"`
}

// Exercised is in how many runs the law was judged.
func (t LawTally) Exercised() int { return t.Holds + t.Violated }

// Finding is a way in which a law was broken.
type Finding struct {
	Law   checker.Law   `json:"law"`
	Cause checker.Cause `json:"cause"`
	Runs  int           `json:"runs"`
	First uint64        `json:"first"` // the lowest seed that shows it
}

// NewExploration prepares to run all seeds from the first on; seeds must be at least 1. An error says that the mix can draw
// nothing, that the seeds are more than there are, or that the run without faults failed.
func NewExploration(s *scenarios.Scenario, from uint64, seeds int, shard Shard) (*Exploration, error) {
	plans, err := NewPlans(s)
	if err != nil {
		return nil, err
	}
	span, err := newSpan(s, plans.Plan(calm), from, seeds, shard)
	if err != nil {
		return nil, err
	}
	e := &Exploration{Span: span}
	e.Laws, e.Faults = newTallies()
	return e, nil
}

func newTallies() (laws []LawTally, faults []FaultTally) {
	for _, law := range checker.Laws {
		laws = append(laws, LawTally{Law: law})
	}
	for _, k := range nemesis.Kinds {
		faults = append(faults, FaultTally{Kind: k})
	}
	return laws, faults
}

// Run goes on from where the exploration stands, on the given number of workers (0: one a core), until all seeds are done or
// ctx is. After each portion it calls saved, if not nil, with all that has been found up to there counted in, and stops at
// its error. What comes of it does not depend on workers, portions and interruptions.
func (e *Exploration) Run(ctx context.Context, s *scenarios.Scenario, workers int, saved func() error) error {
	return runPortions(ctx, e.Span, workers, func(span Span) func(first, n int) (*Exploration, error) {
		w, err := newExplorer(s)
		return func(first, n int) (*Exploration, error) {
			if err != nil {
				return nil, err
			}
			return w.explore(span, first, n)
		}
	}, func(part *Exploration) error {
		e.add(part)
		if saved != nil {
			return saved()
		}
		return nil
	})
}

// explorer is one worker.
type explorer struct {
	scenario *scenarios.Scenario
	plans    *Plans
	runner   *scenarios.Runner
	checker  checker.Checker
	strikes  strikes
}

func newExplorer(s *scenarios.Scenario) (*explorer, error) {
	plans, err := NewPlans(s)
	if err != nil {
		return nil, err
	}
	return &explorer{scenario: s, plans: plans, runner: scenarios.NewRunner(s)}, nil
}

// explore runs n seeds of a span, from its first-th on.
func (w *explorer) explore(span Span, first, n int) (*Exploration, error) {
	part := &Exploration{Span: Span{Done: n}}
	part.Laws, part.Faults = newTallies()
	for i := range n {
		seed := span.Seed(first + i)
		plan := w.plans.Plan(seed)
		result, err := w.runner.Run(plan)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w\n%s", seed, err, plan)
		}
		if len(plan.Faults) == 0 {
			part.Empty++
		}
		part.count(seed, w.checker.Check(result.History))
		w.strikes.count(part.Faults, plan.Faults, result.History)
	}
	return part, nil
}

// count adds the verdict on one run.
func (e *Exploration) count(seed uint64, v checker.Verdict) {
	undecided := countLaws(e.Laws, v)
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Outcome == checker.Violated {
			e.found(Finding{f.Law, f.Cause, 1, seed})
		}
	}
	if undecided {
		e.Undecided++
	}
}

// countLaws adds a verdict to tallies in the order of checker.Laws; undecided reports that some law could not be told.
func countLaws(tallies []LawTally, v checker.Verdict) (undecided bool) {
	for i := range v.Findings {
		t := &tallies[i]
		switch v.Findings[i].Outcome {
		case checker.Holds:
			t.Holds++
		case checker.Violated:
			t.Violated++
		case checker.Undecided:
			t.Undecided++
			undecided = true
		default:
			t.Unchecked++
		}
	}
	return undecided
}

func addLaws(to, more []LawTally) {
	for i := range to {
		t, m := &to[i], &more[i]
		t.Holds += m.Holds
		t.Violated += m.Violated
		t.Undecided += m.Undecided
		t.Unchecked += m.Unchecked
	}
}

// found adds what may have been found before.
func (e *Exploration) found(f Finding) {
	for i := range e.Findings {
		if g := &e.Findings[i]; g.Law == f.Law && g.Cause == f.Cause {
			g.Runs += f.Runs
			g.First = min(g.First, f.First)
			return
		}
	}
	e.Findings = append(e.Findings, f)
}

// add counts in what another part of the same exploration has found.
func (e *Exploration) add(part *Exploration) {
	e.Done += part.Done
	e.Undecided += part.Undecided
	e.Empty += part.Empty
	addLaws(e.Laws, part.Laws)
	for i := range e.Faults {
		t, p := &e.Faults[i], &part.Faults[i]
		t.Drawn += p.Drawn
		t.Struck += p.Struck
		t.Met += p.Met
	}
	for _, f := range part.Findings {
		e.found(f)
	}
	slices.SortFunc(e.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.First, b.First), slices.Index(checker.Laws, a.Law)-slices.Index(checker.Laws, b.Law))
	})
}

// Drawn, Struck and Met sum the faults of all kinds up.
func (e *Exploration) Drawn() (drawn, struck, met int) {
	for _, t := range e.Faults {
		drawn, struck, met = drawn+t.Drawn, struck+t.Struck, met+t.Met
	}
	return drawn, struck, met
}

// Confidence is the chance with which a rate lies below its upper bound.
const Confidence = 0.95

// UpperBound is the highest rate of something per run that still lets n runs pass without it with a chance of 5 %: 1 -
// 0.05^(1/n), about 3/n. It is 1 for no runs: nothing is known then.
func UpperBound(n int) float64 {
	if n == 0 {
		return 1
	}
	return -math.Expm1(math.Log(1-Confidence) / float64(n))
}
