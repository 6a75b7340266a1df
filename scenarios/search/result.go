package search

import (
	"context"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Result sums up the runs that a search has performed so far. The search is either an exploration, in which faults are
// drawn at random (Drawn), or a series of runs with the same faults (Repeated). Result only counts its runs, so its
// size does not grow with the number of seeds. To get any other detail of a run, run its seed again.
type Result struct {
	Span
	Failed   Failed            `json:"failed"` // otherwise these runs are counted only in Ran and Empty
	Laws     campaign.Laws     `json:"laws"`   // in the order of checker.Laws
	Findings campaign.Findings `json:"findings"`
	*Drawn
	*Repeated
}

// like returns a Result of the same kind as r for the given span, with all counts at zero.
func (r *Result) like(span Span) *Result {
	if r.Repeated != nil {
		return newRuns(span, r.Plan)
	}
	return newExploration(span)
}

// portion returns how many seeds a worker gets at a time.
func (r *Result) portion() uint64 {
	if r.Drawn == nil || r.Free {
		return portion
	}
	return together // a worker that begins inside a block would first have to repeat the block's earlier runs
}

// Run continues the search with the given number of workers (0: one per core) until it has run all seeds or ctx is
// done. Each time it has added the results of some seeds to r, it calls counted, if not nil. The result does not depend
// on the number of workers, on how the seeds are divided among them, or on interruptions.
func (r *Result) Run(ctx context.Context, s *scenarios.Scenario, workers int, counted func()) error {
	missing, size := r.missing(), r.portion()
	start := func() func(int) (*Result, error) {
		run, err := r.runner(ctx, s)
		return func(job int) (*Result, error) {
			if err != nil {
				return nil, err
			}
			return run(missing.portion(job, size))
		}
	}
	_, err := campaign.InOrder(ctx, workers, missing.portions(size), start, func(_ int, part *Result) error {
		r.add(part)
		if counted != nil {
			counted()
		}
		return nil
	})
	return err
}

// runner returns the function that a worker calls to run a range of s's seeds. Once ctx is done, the function stops
// even in the middle of the range, because a single run of real programs may take seconds.
func (r *Result) runner(ctx context.Context, s *scenarios.Scenario) (func(Range) (*Result, error), error) {
	if r.Repeated != nil {
		return r.repeater(ctx, s)
	}
	x, err := newExplorer(s, &r.Span)
	return func(seeds Range) (*Result, error) { return x.explore(ctx, seeds) }, err
}

// count adds a run's verdict to the counts, and reports whether the run is undecided.
func (r *Result) count(seed uint64, v checker.Verdict, p checker.Promise) (undecided bool) {
	undecided = r.Laws.Count(v)
	r.Laws.Excuse(v, p)
	r.Findings.Count(seed, v)
	return undecided
}

// add adds the results from another part of the same search.
func (r *Result) add(part *Result) {
	r.Ran = r.Ran.union(part.Ran)
	r.Failed.add(part.Failed)
	r.Laws.Add(part.Laws)
	r.Findings.Add(part.Findings)
	if r.Repeated != nil {
		r.Repeated.add(part.Repeated)
	} else {
		r.Drawn.add(part.Drawn)
		r.keep(part.plans)
	}
}

// sample returns the sample plan from which the Identity of a search over s is computed.
func (r *Result) sample(s *scenarios.Scenario) (nemesis.Plan, error) {
	if r.Repeated != nil {
		faults, err := r.Given()
		return nemesis.Plan{Scenario: s.Name, Seed: calm, Faults: faults}, err
	}
	plans, err := r.Plans(s)
	if err != nil {
		return nemesis.Plan{}, err
	}
	return plans.sample(), nil
}

// Matches returns nil if the result belongs to s and to this version of the program. Otherwise the error says what
// differs.
func (r *Result) Matches(s *scenarios.Scenario) error {
	if err := r.belongs(s); err != nil { // before the sample, which takes a run
		return err
	}
	sample, err := r.sample(s)
	if err != nil {
		return err
	}
	return r.differs(s, sample)
}

// fits reports whether two results come from searches that differ only in their seeds.
func (r *Result) fits(other *Result) bool {
	return r.Scenario == other.Scenario && r.Identity.fits(other.Identity) && (r.Drawn == nil) == (other.Drawn == nil)
}

// Merge combines the shards of one search. The result is the same as if the search had not been divided. If shards
// overlap or do not fit together, the error names them. name returns the name of the i-th shard.
func Merge(parts []*Result, name func(int) string) (*Result, error) {
	span, err := joined(parts, name)
	if err != nil {
		return nil, err
	}
	whole := parts[0].like(span)
	for _, p := range parts {
		whole.add(p)
	}
	return whole, nil
}

// Encode returns the result as one line of JSON, which Decode reads.
func (r *Result) Encode() ([]byte, error) { return encode(r) }

// Decode decodes a result written by Encode. It returns an error if b is truncated, was changed after it was written,
// or is of another kind.
func Decode(b []byte) (*Result, error) {
	r := new(Result)
	return r, decode(b, r)
}

// consistent reports whether this program could have produced r.
func (r *Result) consistent() bool {
	judged := r.Done() - r.Failed.Runs
	return r.Span.consistent() && r.Failed.consistent(r.Done()) && consistentLaws(r.Laws, judged) &&
		consistentFindings(r.Findings, r.Laws, r.Ran) && (r.Drawn == nil) != (r.Repeated == nil) &&
		(r.Drawn == nil || r.Drawn.consistent(r.Ran)) && (r.Repeated == nil || r.Repeated.consistent(judged))
}

func (d *Drawn) consistent(ran Ranges) bool {
	return d.Within >= 0 && d.Differing.Blocks >= 0 && d.Closest.consistent(ran) &&
		slices.EqualFunc(d.Faults, nemesis.Kinds, func(t campaign.Fault, k nemesis.Kind) bool {
			return t.Kind == k && t.Met <= t.Struck && t.Struck <= t.Drawn
		})
}

func (r *Repeated) consistent(judged int) bool {
	c := &r.Campaign
	wrong := func(p campaign.Planned) bool { return p.Met > p.Struck || p.Struck > judged }
	return !slices.ContainsFunc(r.Plan, wrong) && c.Seeds == judged &&
		c.AsExpected+c.Otherwise+c.Undecided == judged && c.Digests() <= judged
}
