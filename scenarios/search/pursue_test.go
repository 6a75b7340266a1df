package search

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// pursuingPlans draws plans for aimedAt, half of which vary others.
func pursuingPlans(t *testing.T) *Plans {
	s := parsed(t, aimedAt)
	s.Mix.Pursued = 50
	plans, err := NewPlans(s)
	if err != nil {
		t.Fatal(err)
	}
	return plans
}

// Whoever asks, and in whatever order, and whether or not it says what the runs have shown: a seed has one plan.
func TestAPursuingPlanIsAFunctionOfItsSeed(t *testing.T) {
	inOrder, varied := pursuingPlans(t), 0
	r := scenarios.NewRunner(inOrder.scenario)
	var all []nemesis.Plan
	for seed := range uint64(together + 20) {
		p := inOrder.Plan(seed)
		result, err := r.Run(p)
		if err != nil {
			t.Fatal(err)
		}
		inOrder.Learn(seed, &result)
		all = append(all, p)
		if err := p.Validate(inOrder.scenario.Targets()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if again, err := nemesis.ParsePlan("p", []byte(p.String())); err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("seed %d: %s parsed back as %v, %v", seed, p, again, err)
		}
		m := inOrder.scenario.Mix
		if n := len(p.Faults); n > m.Most {
			t.Errorf("seed %d has %d faults", seed, n)
		}
		if BlockOf(p.Seed) != BlockOf(seed) || p.Seed > seed || p.Seed%aimedTogether != 0 {
			t.Errorf("seed %d varies a plan with the run's seed %d", seed, p.Seed)
		}
		if p.Seed != baseOf(seed) {
			varied++
			if seed < alone {
				t.Errorf("seed %d pursues what so few have shown", seed)
			}
		}
	}
	if inOrder.pursuit.runner != nil {
		t.Error("runs were made again although their results were known")
	}
	if varied < len(all)/4 || varied > len(all)/2 {
		t.Errorf("%d of %d plans vary one with another run's seed", varied, len(all))
	}
	anyhow := pursuingPlans(t)
	anyhow.Learn(3, nil) // of a plan that nobody has asked for
	for _, seed := range []uint64{together + 7, 40, 41, 7, together - 1, 40} {
		if got := anyhow.Plan(seed); !reflect.DeepEqual(got, all[seed]) {
			t.Errorf("seed %d: %s, not %s", seed, got, all[seed])
		}
	}
	if anyhow.Plan(math.MaxUint64); anyhow.pursuit.first != math.MaxUint64-together+1 {
		t.Errorf("the last block begins at %d", anyhow.pursuit.first)
	}
}

// Whoever goes on in the middle of a block, as often as one likes, draws the plans of one who has made it all: where
// runs failed, too, and where one was different when it was made again.
func TestPlansGoOnInAnotherProcess(t *testing.T) {
	whole, parts := pursuingPlans(t), pursuingPlans(t)
	r := scenarios.NewRunner(whole.scenario)
	var shown []Shown
	for seed := range uint64(together + 40) {
		if BlockOf(seed) == seed {
			shown = nil
		}
		want := whole.Plan(seed)
		if seed%50 == 49 {
			parts = pursuingPlans(t)
			var read []Shown
			line, err := json.Marshal(shown)
			if err == nil {
				err = json.Unmarshal(line, &read)
			}
			if err == nil {
				err = parts.Resume(seed, read)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := parts.Plan(seed); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %s, not %s", seed, got, want)
		}
		result, err := r.Run(want)
		if err != nil {
			t.Fatal(err)
		}
		known := &result
		if seed%30 == 7 {
			known = nil
		}
		if seed == 480 {
			other := uint64(140)
			for _, p := range []*Plans{whole, parts} {
				p.pursuit.differ, p.pursuit.noticed = &other, &seed
			}
		}
		whole.Learn(seed, known)
		parts.Learn(seed, known)
		shown = append(shown, whole.Shown())
	}
	if parts.pursuit.runner != nil {
		t.Error("runs were made again although what they have shown was known")
	}
	if err := parts.Resume(1, []Shown{{Plan: "no plan"}}); err == nil {
		t.Error("something that is no plan was taken for one")
	}
}

// A run that failed has shown nothing; the search goes on.
func TestAFailedRunIsPursuedByNobody(t *testing.T) {
	s := breaking(t, "set-nx-px")
	s.Mix.Pursued = 80
	one, two := explored(t, s, 1, 250, Whole, 1), explored(t, s, 1, 250, Whole, 2)
	if !reflect.DeepEqual(one, two) || one.Failed.Runs == 0 || one.Failed.Runs == 250 {
		t.Errorf("%+v\n%+v", one, two)
	}
}

// What is rare, and was not varied yet, is varied most.
func TestEnergyGoesToWhatIsRare(t *testing.T) {
	p := pursuingPlans(t)
	p.Plan(together - 1)
	q := &p.pursuit
	for i := range q.kept {
		k := &q.kept[i]
		k.varied = 0
		fresh := q.energy(k)
		if k.varied = 3; q.energy(k) != fresh/4 || fresh < 1 || fresh > unit {
			t.Errorf("energy %d, and %d after three variations", fresh, q.energy(k))
		}
		for _, f := range k.met {
			if fresh*int(q.met[f]) < unit-int(q.met[f]) {
				t.Errorf("energy %d, although %q was met %d times", fresh, f, q.met[f])
			}
		}
	}
	if len(q.kept) < 10 || len(q.kept) > together/2 {
		t.Errorf("%d plans are kept", len(q.kept))
	}
}

// A library whose runs differ for one seed is reported so, and the search goes on without what its runs show.
func TestWhatDiffersIsNotPursued(t *testing.T) {
	const text = "name: library\nservers: {redis: 1}\nclients: 3\nlock: {protocol: library}\n" +
		"work: {cycles: 2}\nmix: {pursued: 90%}\n"
	as, err := scenarios.Parse("alike.yaml", []byte(strings.Replace(text, "library}", "set-nx-px}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	runs := uint64(0)
	code := &scenarios.Code{Elsewhere: func(_ *scenarios.Scenario, p nemesis.Plan, _ bool) (scenarios.Result, error) {
		runs++
		p.Seed += runs
		return scenarios.NewRunner(as).Run(p)
	}}
	s, err := scenarios.ParseWith("library.yaml", []byte(text), code)
	if err != nil {
		t.Fatal(err)
	}
	e := explored(t, s, together, 2*together, Whole, 1)
	if e.Differing.Blocks != 2 || e.Differing.First < together || e.Done() != 2*together {
		t.Errorf("%+v of %d runs", e.Differing, e.Done())
	}
	said := strings.Join(e.caveats(), "\n")
	want := fmt.Sprintf("the run of seed %d was different when it was made again", e.Differing.First)
	if !strings.Contains(said, want) {
		t.Errorf("%q does not say that %s", said, want)
	}
}
