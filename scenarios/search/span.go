package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// Span is the set of a scenario's seeds that a search should run, and the subset of seeds that it has already run.
// Spans with different seeds can be merged in any order and grouping.
type Span struct {
	Scenario string   `json:"scenario"`
	Identity Identity `json:"identity"`
	From     uint64   `json:"from"`  // the first seed
	Seeds    int      `json:"seeds"` // number of seeds of all shards; at least 1
	Shard    Shard    `json:"shard"` // the share of these seeds that this search runs
	// Free is set if the mix asks for guided plans, but the search has too few seeds for guiding. All plans are then
	// drawn independently of the results of other runs.
	Free bool   `json:"free,omitempty"`
	Ran  Ranges `json:"ran"` // the seeds that have been run
}

// Identity identifies everything that a search's runs depend on. Results with different identities cannot be combined
// or compared.
type Identity struct {
	Text string `json:"text"` // hash of the scenario's text
	// Behaviour is the digest of a sample run. It changes if the program changes how it draws plans, performs runs or
	// records events. If all of a search's runs have the same faults, the sample run has them too, so Behaviour also
	// depends on these faults.
	Behaviour string `json:"behaviour"`
	// Clients names the clients' code if it is a program or a Go test. Earlier versions did not store it; in their
	// results it is empty.
	Clients scenarios.Origin `json:"clients,omitzero"`
}

// fits reports whether two searches perform the same runs. If only one of them names its clients' code, Behaviour shows
// whether the code is the same.
func (i Identity) fits(other Identity) bool {
	unnamed := scenarios.Origin{}
	named := i.Clients != unnamed && other.Clients != unnamed
	return i.Text == other.Text && i.Behaviour == other.Behaviour && (!named || i.Clients.Same(other.Clients))
}

// newSpan returns the span for a search of s, with no seeds run yet. p is the plan for the sample run whose digest
// becomes Identity.Behaviour.
func newSpan(s *scenarios.Scenario, p nemesis.Plan, from uint64, seeds int, shard Shard) (Span, error) {
	if seeds < 1 || uint64(seeds-1) > math.MaxUint64-from {
		return Span{}, fmt.Errorf("there are fewer than %d seeds from seed %d on", seeds, from)
	}
	if shard.Of > seeds {
		return Span{}, fmt.Errorf("%d seeds cannot be divided into %d shards", seeds, shard.Of)
	}
	id, err := identityOf(s, p)
	return Span{Scenario: s.Name, Identity: id, From: from, Seeds: seeds, Shard: shard}, err
}

// Plans returns the plan source for the span's seeds. The errors are the same as for NewPlans.
func (s *Span) Plans(sc *scenarios.Scenario) (*Plans, error) {
	if s.Free {
		return NewPlans(sc)
	}
	return NewGuidedPlans(sc)
}

func identityOf(s *scenarios.Scenario, p nemesis.Plan) (Identity, error) {
	r, err := scenarios.NewRunner(s).Run(p)
	var failed *scenarios.CodeError
	if err != nil && !errors.As(err, &failed) { // a failed run also gives a usable digest
		return Identity{}, err
	}
	return Identity{textSum(s), fmt.Sprintf("%016x", uint64(r.Digest)), s.Origin()}, nil
}

func textSum(s *scenarios.Scenario) string {
	sum := sha256.Sum256(s.Text())
	return hex.EncodeToString(sum[:8])
}

// all returns the seeds of all shards.
func (s Span) all() Range { return rangeOf(s.From, uint64(s.Seeds)) }

// own returns the seeds that belong to the span's shard.
func (s Span) own() Range {
	from, to := s.Shard.bounds(s.Seeds)
	return rangeOf(s.From+uint64(from), uint64(to-from))
}

// Size returns the number of seeds in the span's shard.
func (s Span) Size() int { return s.own().count() }

// Done returns how many seeds have been run.
func (s Span) Done() int { return s.Ran.count() }

// missing returns those of the shard's seeds that have not been run.
func (s Span) missing() Ranges { return Ranges{s.own()}.without(s.Ran) }

// Finished reports whether all of the shard's seeds have been run.
func (s Span) Finished() bool { return len(s.missing()) == 0 }

func (s Span) consistent() bool {
	return s.Seeds >= 1 && uint64(s.Seeds-1) <= math.MaxUint64-s.From && s.Shard.Of >= 1 && s.Shard.Of <= s.Seeds &&
		s.Ran.consistent(s.own())
}

// unfinished returns a sentence that says which seeds are missing, or nil if no seeds are missing.
func (s Span) unfinished() []string {
	missing := s.missing()
	if len(missing) == 0 {
		return nil
	}
	said := fmt.Sprintf("%d of %d seeds were run", s.Done(), s.Size())
	if last := missing[len(missing)-1]; len(missing) > 1 || last.Last != s.own().Last {
		said += fmt.Sprintf("; missing: %s", missing)
	}
	return []string{said}
}

// differs returns nil if the span belongs to sc and this version of the program. Otherwise it returns an error that
// says what is different. p is the plan for the sample run from which sc's Identity is computed.
func (s Span) differs(sc *scenarios.Scenario, p nemesis.Plan) error {
	if err := s.belongs(sc); err != nil {
		return err
	}
	id, err := identityOf(sc, p)
	if err == nil && !s.Identity.fits(id) {
		err = errors.New("holds the results of other runs: " +
			"this program, the code of the lock or the faults are different")
	}
	return err
}

// belongs returns nil if the span names the same clients, scenario and text as sc. Otherwise the error says what
// differs.
func (s Span) belongs(sc *scenarios.Scenario) error {
	if own := s.Identity.Clients; own != (scenarios.Origin{}) && !own.Same(sc.Origin()) {
		return fmt.Errorf("holds the results of %s, not of %s", own, sc.Origin())
	}
	return s.MatchesText(sc)
}

// MatchesText returns nil if the span belongs to a scenario with the name and the text of sc. Otherwise the error says
// what differs. Unlike [Result.Matches], it does not run anything.
func (s Span) MatchesText(sc *scenarios.Scenario) error {
	switch {
	case s.Scenario != sc.Name:
		return fmt.Errorf("holds the results of another scenario, %s", s.Scenario)
	case s.Identity.Text != textSum(sc):
		return fmt.Errorf("holds results of the scenario %s from before its text was changed", s.Scenario)
	}
	return nil
}

// portion is how many seeds a worker gets at a time. It is large enough to keep the cost of distributing them low.
const portion = 8

func isDone(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// joined returns a span that covers the seeds of all parts, and in which none of them has been run yet. If parts
// overlap or do not fit together, the error names them. name returns the name of the i-th part.
func joined(parts []*Result, name func(int) string) (Span, error) {
	if len(parts) == 0 {
		return Span{}, errors.New("there is nothing to merge")
	}
	whole := parts[0].Span
	whole.Shard, whole.Ran = Whole, nil
	bounds := whole.all()
	for i, p := range parts {
		if k := slices.IndexFunc(parts[:i], func(q *Result) bool { return !p.fits(q) }); k >= 0 {
			return Span{}, unlike(parts[k], p, name(k), name(i))
		}
		if whole.Identity.Clients == (scenarios.Origin{}) {
			whole.Identity.Clients = p.Identity.Clients
		}
		if len(p.Ran.common(whole.Ran)) > 0 {
			k := slices.IndexFunc(parts, func(q *Result) bool { return len(p.Ran.common(q.Ran)) > 0 })
			return Span{}, fmt.Errorf("%s and %s overlap: both have run %s", name(k), name(i),
				p.Ran.common(parts[k].Ran))
		}
		bounds = Range{min(bounds.First, p.all().First), max(bounds.Last, p.all().Last)}
		whole.Ran = whole.Ran.union(p.Ran)
	}
	if bounds.Last-bounds.First >= math.MaxInt {
		return Span{}, fmt.Errorf("the seeds %s are too many for one search", bounds)
	}
	whole.From, whole.Seeds, whole.Ran = bounds.First, bounds.count(), nil
	return whole, nil
}

// unlike returns an error that says why two results cannot be merged. a and b are their names.
func unlike(first, second *Result, a, b string) error {
	if x, y := first.Identity.Clients, second.Identity.Clients; first.Scenario == second.Scenario && !x.Same(y) {
		named := func(o scenarios.Origin) string {
			if o == (scenarios.Origin{}) {
				return "no program or Go test"
			}
			return o.String()
		}
		return fmt.Errorf("%s and %s come from different clients: %s names %s, and %s names %s", a, b, a, named(x), b,
			named(y))
	}
	return fmt.Errorf("%s and %s come from different scenarios, faults or versions of this program", a, b)
}
