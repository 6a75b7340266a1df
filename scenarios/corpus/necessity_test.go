package corpus_test

import (
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/corpus"
	"github.com/fencepost-sim/fencepost/scenarios/rerun"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// TestFaultsThatAStoryNamesAreNecessary takes each fault that a finding names away and runs again: the same violation
// must not come about. The findings are those of the catalogue, of the mutants, and of random plans on both, a few of
// each law and cause from every scenario. Of 1,000, at most 20 may name a fault in vain; they are listed.
// FENCEPOST_FULL=1 asks for all. Of 887 faults that 1,348 findings name, 6 are named in vain: without them, one that
// was idle does the same harm. A later expiry ends the session that this one had ended (twice), the request that this
// one held up is sent at another moment and meets another pause (twice), or a fault tied to a moment of the run strikes
// at another one (twice).
func TestFaultsThatAStoryNamesAreNecessary(t *testing.T) {
	n, fewest := necessity{t: t, seeds: 3, each: 1}, 100
	if testkit.Full() {
		n.seeds, n.each, fewest = 150, 4, 1000
	}
	for _, s := range n.scenarios() {
		n.search(s)
	}
	t.Logf("%d findings, %d faults named, %d of them in vain", n.findings, n.named, n.vain)
	if n.findings < fewest {
		t.Errorf("only %d findings", n.findings)
	}
	if 50*n.vain > n.named {
		t.Errorf("%d of %d faults were named in vain", n.vain, n.named)
	}
}

type necessity struct {
	t                     *testing.T
	seeds, each           int // random plans of a scenario; findings of it with the same law and cause
	findings, named, vain int
}

// scenarios lists the catalogue and the mutants.
func (n *necessity) scenarios() []*scenarios.Scenario {
	var list []*scenarios.Scenario
	for _, name := range scenarios.Names() {
		s, err := scenarios.Named(name)
		if err != nil {
			n.t.Fatal(err)
		}
		list = append(list, s)
	}
	for _, m := range corpus.Mutants() {
		s, err := scenarioOf(m)
		if err != nil {
			n.t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func (n *necessity) search(s *scenarios.Scenario) {
	plans := []nemesis.Plan{s.Plan(1)}
	if random, err := search.NewPlans(s); err == nil { // else its mix can draw nothing
		for seed := range n.seeds {
			plans = append(plans, random.Plan(uint64(seed+1)))
		}
	}
	runner, again := scenarios.NewRunner(s), rerun.New(s)
	seen := map[string]int{}
	for _, p := range plans {
		result, err := runner.Run(p)
		if err != nil {
			n.t.Fatal(err)
		}
		for _, f := range checker.Check(result.History).Findings {
			if key := string(f.Law) + f.Cause.String(); f.Outcome == checker.Violated && seen[key] < n.each {
				seen[key]++
				n.finding(s, again, p, result.History, f)
			}
		}
	}
}

func (n *necessity) finding(s *scenarios.Scenario, again *rerun.Trials, p nemesis.Plan, h *history.History,
	f checker.Finding) {
	n.findings++
	named, later := rerun.NamedIn(p, h, &f), rerun.Later(p, h, &f)
	// reports whether the violation stays away; what struck later is no reason of it
	without := func(drop ...int) bool {
		g, err := again.Without(p, f.Law, append(slices.Clone(later), drop...)...)
		if err != nil {
			n.t.Fatal(err)
		}
		return !checker.SameViolation(f, g)
	}
	all := slices.Concat(named...)
	for _, places := range named {
		n.named++
		if !slices.ContainsFunc(places, func(i int) bool { return without(i) || together(i, all, without) }) {
			n.vain++
			n.t.Logf("%s, seed %d, %s by %s: %q is named in vain\n%s\n%s", s.Name, p.Seed, f.Law, f.Cause,
				p.Faults[places[0]], f.Explanation, p)
		}
	}
}

// together reports whether fault i belongs to some of those named without all of which, but not without fewer, the
// violation stays away.
func together(i int, named []int, without func(...int) bool) bool {
	if !without(named...) {
		return false
	}
	drop := named
	for _, o := range named {
		if fewer := slices.DeleteFunc(slices.Clone(drop), func(d int) bool { return d == o }); o != i &&
			without(fewer...) {
			drop = fewer
		}
	}
	return !without(slices.DeleteFunc(slices.Clone(drop), func(d int) bool { return d == i })...)
}
