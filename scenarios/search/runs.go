package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// Runs sums up the runs of a scenario that were performed so far with the same faults and different seeds.
type Runs struct {
	Span
	Failed   Failed             `json:"failed"` // these runs are counted nowhere else except in Ran
	Plan     []campaign.Planned `json:"plan"`
	Laws     campaign.Laws      `json:"laws"` // in the order of checker.Laws
	Findings campaign.Findings  `json:"findings"`
	Campaign format.Campaign    `json:"campaign"`
}

// NewRuns prepares to run the given number of seeds (at least 1), beginning with from. The faults must be valid for s.
func NewRuns(s *scenarios.Scenario, faults []nemesis.Fault, from uint64, seeds int, shard Shard) (*Runs, error) {
	span, err := newSpan(s, nemesis.Plan{Scenario: s.Name, Seed: calm, Faults: faults}, from, seeds, shard)
	return newRuns(span, faults), err
}

// newRuns returns the Runs of the span with all counts at zero.
func newRuns(span Span, faults []nemesis.Fault) *Runs {
	return &Runs{Span: span, Plan: campaign.NewPlanned(faults), Laws: campaign.NewLaws(checker.Laws)}
}

// Faults returns the faults of all runs.
func (r *Runs) Faults() ([]nemesis.Fault, error) {
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

// Run performs the remaining runs on the given number of workers (0: one per core), until all are done or ctx is done.
// After each portion it calls made, if that is not nil. The result does not depend on workers and interruptions.
func (r *Runs) Run(ctx context.Context, s *scenarios.Scenario, workers int, made func()) error {
	faults, err := r.Faults()
	if err != nil {
		return err
	}
	return runPortions(ctx, r.Span, workers, portion, func() func(Range) (*Runs, error) {
		runner, strikes := scenarios.NewRunner(s), campaign.Strikes{}
		return func(seeds Range) (*Runs, error) {
			part := newRuns(Span{}, faults)
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
					return nil, err
				}
				judged := s.Judge(result)
				part.Campaign.Add(seed, result.Digest, judged)
				part.Laws.Count(judged.Verdict)
				part.Laws.Excuse(judged.Verdict, s.Promise)
				part.Findings.Count(seed, judged.Verdict)
				strikes.CountPlanned(part.Plan, faults, result.History)
			}
			return part, nil
		}
	}, func(part *Runs) {
		r.add(part)
		if made != nil {
			made()
		}
	})
}

func (r *Runs) add(part *Runs) {
	r.Ran = r.Ran.with(part.Ran)
	r.Failed.add(part.Failed)
	r.Campaign.Merge(&part.Campaign)
	r.Laws.Add(part.Laws)
	r.Findings.Add(part.Findings)
	for i := range r.Plan {
		r.Plan[i].Struck += part.Plan[i].Struck
		r.Plan[i].Met += part.Plan[i].Met
	}
}

// Standing sums the runs up. If no result was unexpected, it is Undecided while runs are left or could not be judged.
func (r *Runs) Standing() document.Result {
	standing := r.Campaign.Standing()
	if standing != document.Failed && (r.Failed.Runs > 0 || !r.Finished()) {
		return document.Undecided
	}
	return standing
}

// open says why the result is not final, one sentence per reason.
func (r *Runs) open() []string { return append(r.unfinished(), r.Failed.open(r.Done())...) }

// Encode returns the runs as one line of JSON, for DecodeRuns.
func (r *Runs) Encode() ([]byte, error) { return encode(r) }

// DecodeRuns reads what Encode wrote. It returns an error if b is truncated, was changed since it was written, or is of
// another kind.
func DecodeRuns(b []byte) (*Runs, error) {
	r := new(Runs)
	return r, decode(b, r)
}

func (r *Runs) consistent() bool {
	c := &r.Campaign
	judged := r.Done() - r.Failed.Runs
	wrong := func(p campaign.Planned) bool { return p.Met > p.Struck || p.Struck > judged }
	return r.Span.consistent() && r.Failed.consistent(r.Done()) && consistentLaws(r.Laws, judged) &&
		!slices.ContainsFunc(r.Plan, wrong) && consistentFindings(r.Findings, r.Laws, r.Ran) &&
		c.Seeds == judged && c.AsExpected+c.Otherwise+c.Undecided == judged && c.Digests() <= judged
}

// Matches returns an error that says why the runs do not belong to s and this version of the program; nil if they do.
func (r *Runs) Matches(s *scenarios.Scenario) error {
	faults, err := r.Faults()
	if err != nil {
		return err
	}
	return r.differs(s, nemesis.Plan{Scenario: s.Name, Seed: calm, Faults: faults})
}

// MergeRuns combines the shards of the runs of one scenario. The result equals that of the runs as a whole. The errors
// are the same as for MergeExplorations.
func MergeRuns(parts []*Runs, name func(int) string) (*Runs, error) {
	spans := make([]Span, len(parts))
	for i, p := range parts {
		spans[i] = p.Span
	}
	span, err := joined(spans, name)
	if err != nil {
		return nil, err
	}
	faults, err := parts[0].Faults()
	if err != nil {
		return nil, err
	}
	whole := newRuns(span, faults)
	for _, p := range parts {
		whole.add(p)
	}
	return whole, nil
}
