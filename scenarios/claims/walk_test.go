package claims

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// TestAWalkGoesEverywhere checks that the plans drawn for some scenarios contain faults of every kind, and faults that
// strike every process.
func TestAWalkGoesEverywhere(t *testing.T) {
	kinds, points := map[nemesis.Kind]int{}, map[bool]int{}
	for i, s := range Subjects(t) {
		if i%testkit.Size(20, 10, 10) != 0 {
			continue
		}
		w, again := NewWalk(t, s), NewWalk(t, s)
		if p, q := w.Plan(3), again.Plan(3); p.String() != q.String() {
			t.Errorf("%s: %s, and again %s", s.Name, p, q)
		}
		struck := map[string]bool{}
		for seed := range uint64(testkit.Size(50, 200, 200)) {
			p := w.Plan(seed)
			if n := len(p.Faults); n < fewest || n > most {
				t.Fatalf("%s: %d faults", s.Name, n)
			}
			for _, f := range p.Faults {
				kinds[f.Kind]++
				if f.Kind.Has(nemesis.FieldTrigger) {
					points[f.Trigger.Point != ""]++
				}
				for _, id := range f.On() {
					struck[string(id)] = true
				}
			}
		}
		for _, id := range w.all {
			if !struck[string(id)] {
				t.Errorf("%s: nothing strikes %s", s.Name, id)
			}
		}
	}
	for _, k := range nemesis.Kinds {
		if kinds[k] < testkit.Size(5, 20, 20) {
			t.Errorf("%d faults of the kind %q", kinds[k], k)
		}
	}
	if points[true] < points[false]/3 || points[false] < points[true]/3 {
		t.Errorf("%d faults at points, %d at times", points[true], points[false])
	}
	t.Log(kinds, points)
}

// TestWhatIsKeptShowsTheRun parses a run's stored file, and checks that it gives the same plan and the same run.
func TestWhatIsKeptShowsTheRun(t *testing.T) {
	rounds, nth := testkit.Size(1, 2, 30), testkit.Size(12, 4, 1)
	kept, seen := 0, 0
	Runs(t, rounds, func(r *Run) bool {
		if seen++; seen%nth > 0 {
			return true
		}
		text, err := r.file()
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenarios.Parse("kept.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v\n%s", r.Scenario.Name, err, text)
		}
		again, err := scenarios.NewRunner(s).Run(s.Plan(r.Plan.Seed))
		if err != nil {
			t.Fatal(err)
		}
		if again.Digest != r.Digest {
			t.Errorf("another run of %s", text)
		}
		kept++
		return true
	})
	t.Logf("%d runs were kept and made again", kept)
	if kept == 0 {
		t.Error("no run was kept")
	}
}
