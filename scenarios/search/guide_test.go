package search

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
)

// guidedPlans returns Plans for the scenario aimedAt. Half of them are variations of other plans.
func guidedPlans(t *testing.T) *Plans {
	s := parsed(t, aimedAt)
	s.Mix.Guided = 50
	plans, err := NewGuidedPlans(s)
	if err != nil {
		t.Fatal(err)
	}
	return plans
}

// judged returns a run with its close calls, to be passed to Learn.
func judged(r *scenarios.Result) Judged {
	c := new(checker.Checker)
	v := c.Check(r.History)
	return Judged{r, new(margin.Reader).Read(c.Trace(r.History), &v, r.Sent)}
}

// TestAGuidedPlanIsAFunctionOfItsSeed checks that a seed's plan depends only on the seed, and not on the order of the
// calls or on whether Learn is called.
func TestAGuidedPlanIsAFunctionOfItsSeed(t *testing.T) {
	inOrder, varied := guidedPlans(t), 0
	r := scenarios.NewRunner(inOrder.scenario)
	r.ReportSent(true)
	var all []nemesis.Plan
	for seed := range uint64(testkit.Size(200, together+20, together+20)) {
		p := inOrder.Plan(seed)
		result, err := r.Run(p)
		if err != nil {
			t.Fatal(err)
		}
		inOrder.Learn(seed, judged(&result))
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
				t.Errorf("seed %d varies another, though so few runs are known", seed)
			}
		}
	}
	if inOrder.guide.runner != nil {
		t.Error("runs were made again although their results were known")
	}
	if varied < len(all)/5 || varied > len(all)/2 {
		t.Errorf("%d of %d plans vary one with another run's seed", varied, len(all))
	}
	anyhow := guidedPlans(t)
	anyhow.Learn(3, Judged{}) // this plan was never requested
	out := []uint64{together + 7, 40, 41, 7, together - 1, 40}
	if !testkit.Thorough() {
		out = []uint64{40, 41, 7, 40} // for later seeds, many runs must be made again
	}
	for _, seed := range out {
		if got := anyhow.Plan(seed); !reflect.DeepEqual(got, all[seed]) {
			t.Errorf("seed %d: %s, not %s", seed, got, all[seed])
		}
	}
	last := math.MaxUint64 - uint64(testkit.Size(together-10, 0, 0))
	if anyhow.Plan(last); anyhow.guide.first != math.MaxUint64-together+1 {
		t.Errorf("the last block begins at %d", anyhow.guide.first)
	}
}

// TestPlansGoOnInAnotherProcess checks that the plans are the same as without interruption if drawing is resumed in the
// middle of a block of seeds, any number of times. This must also hold if some runs failed, and if a repeated run had a
// different result.
func TestPlansGoOnInAnotherProcess(t *testing.T) {
	whole, parts := guidedPlans(t), guidedPlans(t)
	r := scenarios.NewRunner(whole.scenario)
	r.ReportSent(true)
	var shown []Shown
	for seed := range uint64(testkit.Size(160, together+40, together+40)) {
		if BlockOf(seed) == seed {
			shown = nil
		}
		want := whole.Plan(seed)
		if seed%50 == 49 {
			parts = guidedPlans(t)
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
		known := judged(&result)
		if seed%30 == 7 {
			known = Judged{}
		}
		if seed == 480 {
			other := uint64(140)
			for _, p := range []*Plans{whole, parts} {
				p.guide.differ, p.guide.noticed = &other, &seed
			}
		}
		whole.Learn(seed, known)
		parts.Learn(seed, known)
		shown = append(shown, whole.Shown())
	}
	if parts.guide.runner != nil {
		t.Error("runs were made again although what they have shown was known")
	}
	if err := parts.Resume(1, []Shown{{Plan: "no plan"}}); err == nil {
		t.Error("something that is no plan was taken for one")
	}
}

// TestDamagedNumbersAreRefused replaces each number of what an earlier process has kept by a negative and by a huge
// one. Reading and resuming may then fail, but must not panic, and drawing must not panic either. An unknown niche is
// refused.
func TestDamagedNumbersAreRefused(t *testing.T) {
	plans := guidedPlans(t)
	r := scenarios.NewRunner(plans.scenario)
	r.ReportSent(true)
	var shown []Shown
	for seed := uint64(0); len(shown) == 0 || shown[seed-1].Parent == nil || shown[seed-1].Niche == 0; seed++ {
		result, err := r.Run(plans.Plan(seed))
		if err != nil {
			t.Fatal(err)
		}
		plans.Learn(seed, judged(&result))
		shown = append(shown, plans.Shown())
	}
	line, err := json.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	resume := func(damaged string) error {
		var read []Shown
		if err := json.Unmarshal([]byte(damaged), &read); err != nil {
			return err
		}
		p := guidedPlans(t)
		if err := p.Resume(uint64(len(read)), read); err != nil {
			return err
		}
		p.Plan(uint64(len(read)))
		return nil
	}
	if err := resume(string(line)); err != nil {
		t.Fatal(err)
	}
	numbers := regexp.MustCompile(`"([A-Za-z_]+)":(-?[0-9.e+-]+)`).FindAllSubmatchIndex(line, -1)
	name := func(at []int) string { return string(line[at[2]:at[3]]) }
	last := map[string]int{}
	for i, at := range numbers {
		last[name(at)] = i
	}
	refused := 0
	for i, at := range numbers {
		if !testkit.Thorough() && last[name(at)] != i {
			continue // every day, only the last number of each kind is damaged
		}
		for _, number := range []string{"-1", "1099511627776", "18446744073709551616"} {
			damaged := string(line[:at[4]]) + number + string(line[at[5]:])
			if err := resume(damaged); err != nil {
				refused++
			} else if name(at) == "Niche" || name(at) == "value" && number == "-1" {
				t.Errorf("%s %s was accepted", name(at), number)
			}
		}
	}
	if last["Niche"] == 0 || refused == 0 {
		t.Errorf("the numbers are %v, of which %d were refused", last, refused)
	}
}

// TestPlansOfOneFaultAreVaried draws a block of plans from mixes that allow only one fault in a plan, although some
// variations consist of two. Each variation must still have a fault.
func TestPlansOfOneFaultAreVaried(t *testing.T) {
	for _, text := range []string{
		"name: replicated\nservers: {redis: 1, replicas: 1, down-after: 500ms}\n" +
			"lock: {protocol: set-nx-px, ttl: 1s}\n" +
			"work: {hold: 500ms, writes: 1}\nmix: {faults: 1, guided: 100%, with: [fail over]}\n",
		"name: leader\nservers: {kubernetes: 3}\nlock: {protocol: lease-object}\n" +
			"work: {hold: 1s, writes: 1}\nmix: {faults: 1, guided: 100%}\n",
	} {
		plans, err := NewGuidedPlans(parsed(t, text))
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(testkit.Size(150, together, together)) {
			if p := plans.Plan(seed); len(p.Faults) != 1 && !plans.Free(seed) {
				t.Fatalf("seed %d has %d faults:\n%s", seed, len(p.Faults), p)
			}
		}
	}
}

// TestAFailedRunGuidesNobody checks that a search continues after a failed run, and that the result does not depend on
// the number of workers.
func TestAFailedRunGuidesNobody(t *testing.T) {
	testkit.ThoroughOnly(t)
	s := breaking(t, "set-nx-px")
	s.Mix.Guided = 80
	one, two := explored(t, s, 1, together, Whole, 1), explored(t, s, 1, together, Whole, 2)
	if !reflect.DeepEqual(one, two) || one.Failed.Runs == 0 || one.Failed.Runs == together {
		t.Errorf("%+v\n%+v", one, two)
	}
}

// TestRunsThatDifferGuideNobody checks that if two runs of a library's lock with the same seed differ, the report says
// so, and the search continues without varying earlier runs' plans.
func TestRunsThatDifferGuideNobody(t *testing.T) {
	const text = "name: library\nservers: {redis: 1}\nclients: 3\nlock: {protocol: library}\n" +
		"work: {cycles: 2}\nmix: {guided: 90%}\n"
	as, err := scenarios.Parse("alike.yaml", []byte(strings.Replace(text, "library}", "set-nx-px}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	runs := uint64(0)
	code := &scenarios.Code{Elsewhere: func(_ *scenarios.Scenario, p nemesis.Plan,
		_ scenarios.Wanted) (scenarios.Result, error) {
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
	want := fmt.Sprintf("the run with seed %d was different when it was repeated", e.Differing.First)
	if !strings.Contains(said, want) {
		t.Errorf("%q does not say that %s", said, want)
	}
}
