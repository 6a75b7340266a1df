package search

import (
	"context"
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// Repeated holds the fields of a Result that are used only if all of the search's runs have the same faults.
type Repeated struct {
	Plan     []campaign.Planned `json:"plan"`
	Campaign format.Campaign    `json:"campaign"`
}

// NewRuns prepares to run the given number of seeds (at least 1), starting with firstSeed. The faults must be valid for
// s.
func NewRuns(s *scenarios.Scenario, faults []nemesis.Fault, firstSeed uint64, seeds int, shard Shard) (*Result, error) {
	span, err := newSpan(s, nemesis.Plan{Scenario: s.Name, Seed: calm, Faults: faults}, firstSeed, seeds, shard)
	return newRuns(span, campaign.NewPlanned(faults)), err
}

// newRuns returns a Result for the span's seeds, with all counts at zero. Every run uses the faults in plan.
func newRuns(span Span, plan []campaign.Planned) *Result {
	r := &Result{Span: span, Laws: campaign.NewLaws(checker.Laws),
		Repeated: &Repeated{Plan: make([]campaign.Planned, len(plan))}}
	for i, p := range plan {
		r.Plan[i].Line = p.Line
	}
	return r
}

// Given returns the faults injected in every run.
func (r *Repeated) Given() ([]nemesis.Fault, error) {
	var faults []nemesis.Fault
	for _, p := range r.Plan {
		f, err := nemesis.Parse(p.Line)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", p.Line, err)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// repeater returns a function for one worker, which runs a range of s's seeds with r's faults. The function stops when
// ctx is done.
func (r *Result) repeater(ctx context.Context, s *scenarios.Scenario) (func(Range) (*Result, error), error) {
	faults, err := r.Given()
	runner, strikes := scenarios.NewRunner(s), campaign.Strikes{}
	return func(seeds Range) (*Result, error) {
		part := newRuns(Span{}, r.Plan)
		for i := range seeds.count() {
			if isDone(ctx) {
				break
			}
			seed := seeds.First + uint64(i)
			part.Ran = Ranges{{seeds.First, seed}}
			result, err := runner.Run(nemesis.Plan{Scenario: s.Name, Seed: seed, Faults: faults})
			if part.Failed.note(seed, err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("seed %d: %w", seed, err)
			}
			judged := s.Judge(result)
			part.Campaign.Add(seed, result.Digest, judged)
			part.count(seed, judged.Verdict, s.Promise)
			strikes.CountPlanned(part.Plan, faults, result.History)
		}
		return part, nil
	}, err
}

// add adds the results of other runs with the same faults.
func (r *Repeated) add(part *Repeated) {
	r.Campaign.Merge(&part.Campaign)
	for i := range r.Plan {
		r.Plan[i].Struck += part.Plan[i].Struck
		r.Plan[i].Met += part.Plan[i].Met
	}
}
