package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Span says which seeds of a scenario a search runs, and how many of them it has.
type Span struct {
	Scenario string   `json:"scenario"`
	Identity Identity `json:"identity"`
	From     uint64   `json:"from"`  // the first seed
	Seeds    int      `json:"seeds"` // how many, over all shards; at least 1
	Shard    Shard    `json:"shard"`
	// Done is how many of the shard's own seeds have been run, the lowest first.
	Done int `json:"done"`
}

// Identity is what the runs of a search depend on: those of different identity have nothing to do with each other.
type Identity struct {
	Text string `json:"text"` // hash of the scenario's text
	// Behaviour is the digest of one run. It differs if the program draws, runs or records otherwise, and, where all
	// runs have the same faults, if these differ.
	Behaviour string `json:"behaviour"`
}

// newSpan begins with the runs of s whose behaviour the plan stands for.
func newSpan(s *scenarios.Scenario, p nemesis.Plan, from uint64, seeds int, shard Shard) (Span, error) {
	if seeds < 1 || uint64(seeds-1) > math.MaxUint64-from {
		return Span{}, fmt.Errorf("there are no %d seeds from %d on", seeds, from)
	}
	id, err := identityOf(s, p)
	return Span{Scenario: s.Name, Identity: id, From: from, Seeds: seeds, Shard: shard}, err
}

func identityOf(s *scenarios.Scenario, p nemesis.Plan) (Identity, error) {
	r, err := scenarios.NewRunner(s).Run(p)
	var failed *scenarios.CodeError
	if err != nil && !errors.As(err, &failed) { // one that failed behaves like any other that did
		return Identity{}, err
	}
	sum := sha256.Sum256(s.Text())
	return Identity{hex.EncodeToString(sum[:8]), fmt.Sprintf("%016x", uint64(r.Digest))}, nil
}

// Size is how many seeds the span's shard has.
func (s Span) Size() int { return s.Shard.Size(s.Seeds) }

// seed is the shard's own i-th seed, from 0.
func (s Span) seed(i int) uint64 { return s.From + uint64(s.Shard.position(i)) }

// Finished reports whether all seeds of the shard have been run.
func (s Span) Finished() bool { return s.Done == s.Size() }

func (s Span) consistent() bool {
	return s.Seeds >= 1 && s.Shard.Of >= 1 && s.Done >= 0 && s.Done <= s.Size()
}

// differs says why the span is not one of sc with the program as it is, for which p stands; nil if it is.
func (s Span) differs(sc *scenarios.Scenario, p nemesis.Plan) error {
	id, err := identityOf(sc, p)
	switch {
	case err != nil:
		return err
	case s.Scenario != sc.Name:
		return fmt.Errorf("holds the results of another scenario, %s", s.Scenario)
	case s.Identity.Text != id.Text:
		return fmt.Errorf("holds the results of %s as it was before its text was changed", s.Scenario)
	case s.Identity != id:
		return errors.New("holds the results of other runs: the program or the faults have changed since")
	}
	return nil
}

// portion is how many seeds one job has: enough to make handing it over cheap, few enough to stop soon, since a job
// that was begun is finished.
const portion = 8

// runPortions runs the seeds of a span that are left, a portion a job, and hands out what comes of them in their order.
// It stops early when ctx is done, or at the first error. start makes one worker's own function, which must not touch
// what take changes: it is given the span as it was at the beginning.
func runPortions[R any](ctx context.Context, s Span, workers int, start func(Span) func(first, n int) (R, error),
	take func(R)) error {
	left := s.Size() - s.Done
	worker := func() func(int) (R, error) {
		run := start(s)
		return func(job int) (R, error) { return run(s.Done+job*portion, min(portion, left-job*portion)) }
	}
	jobs := left / portion
	if left%portion > 0 {
		jobs++
	}
	_, err := campaign.InOrder(ctx, workers, jobs, worker, func(_ int, r R) error { take(r); return nil })
	return err
}

// joined is the span of all shards together. An error says which of them do not fit, overlap, are missing or not
// finished; it names them by their place through name.
func joined(parts []Span, name func(int) string) (Span, error) {
	if len(parts) == 0 {
		return Span{}, errors.New("there is nothing to merge")
	}
	first := parts[0]
	had := make(map[int]int, len(parts)) // which part has which shard
	for i, p := range parts {
		before, twice := had[p.Shard.Index]
		switch {
		case p.Scenario != first.Scenario || p.Identity != first.Identity:
			return Span{}, fmt.Errorf("%s and %s are of different scenarios, faults or versions of this program",
				name(0), name(i))
		case p.From != first.From || p.Seeds != first.Seeds:
			return Span{}, fmt.Errorf("%s and %s are of different seeds", name(0), name(i))
		case p.Shard.Of != first.Shard.Of:
			return Span{}, fmt.Errorf("%s is shard %s, but %s is shard %s: they overlap", name(0), first.Shard, name(i),
				p.Shard)
		case twice:
			return Span{}, fmt.Errorf("%s and %s overlap: both are shard %s", name(before), name(i), p.Shard)
		case !p.Finished():
			return Span{}, fmt.Errorf("%s is not finished: it has %d of %d seeds", name(i), p.Done, p.Size())
		}
		had[p.Shard.Index] = i
	}
	for i := range first.Shard.Of {
		if _, ok := had[i+1]; !ok {
			return Span{}, fmt.Errorf("shard %s is missing", Shard{i + 1, first.Shard.Of})
		}
	}
	first.Shard, first.Done = Whole, 0
	return first, nil
}
