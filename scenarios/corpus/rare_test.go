package corpus

import (
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/shrink"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// TestWhyAMutantIsRare checks the explanation of a rare mutant. Its smallest plan must break the promise, need each of
// its faults, and not have any fault that the mix excludes. The counts of other plans that were tried, and of those
// that broke the promise, must be plausible.
func TestWhyAMutantIsRare(t *testing.T) {
	names := []string{"token-read-later", "zookeeper-session-expired", "bare-quorum", "works-on", "value-per-acquire"}
	for _, name := range names[:testkit.Size(1, 2, len(names))] {
		m := mutants[slices.IndexFunc(mutants, func(m Mutant) bool { return m.Name == name })]
		s, err := m.scenario()
		if err != nil {
			t.Fatal(err)
		}
		found, err := search.FindFirst(t.Context(), s, 0, m.Within)
		if err != nil || !found.Found {
			t.Fatalf("%s: %+v, %v", name, found, err)
		}
		r, err := rarity(t.Context(), &m, &found)
		if err != nil {
			t.Fatal(err)
		}
		again := striker{ctx: t.Context(), scenario: s, runner: scenarios.NewRunner(s), law: found.Law,
			cause: found.Cause, left: shrinkRuns}
		if !again.breaks(r.Plan) || len(r.Struck) != len(r.Plan.Faults) || len(r.Struck) == 0 ||
			r.Often > shrink.OtherSeeds {
			t.Errorf("%s: %+v", name, r)
		}
		for i, f := range r.Plan.Faults {
			less := r.Plan
			less.Faults = slices.Delete(slices.Clone(less.Faults), i, i+1)
			if again.breaks(less) {
				t.Errorf("%s: %s can be spared", name, f)
			}
			struck := &r.Struck[i]
			if struck.Fault.String() != f.String() || struck.Places.Tried == 0 || struck.Drawn.Tried == 0 ||
				struck.Places.Broke > struck.Places.Tried || struck.Drawn.Broke > struck.Drawn.Tried/2 {
				t.Errorf("%s: %+v", name, struck)
			}
		}
		t.Log(r.explanation())
	}
}

func TestInstantsAreSpreadEvenly(t *testing.T) {
	f := nemesis.Fault{Kind: nemesis.Pause, Target: "client-1", For: 5}
	for i, g := range instants(f, 2*tries) {
		if at := g.Trigger.Time; int(at) != 2*i+1 || g.Target != f.Target || g.For != f.For {
			t.Fatalf("the %dth is %v", i, g)
		}
	}
}
