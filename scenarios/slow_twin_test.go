package scenarios

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/slow"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
)

// plansPerScenario returns the number of runs of each scenario that are judged by both checkers, the normal one and the
// slow one.
func plansPerScenario() int {
	if !testkit.Full() || testkit.Race {
		return 4
	}
	return 24
}

// TestTheCheckerReadsTheLawsAsWritten compares the checker with a slow, literal implementation of the laws, on runs of
// the catalog under random faults. For every law, both must agree on the outcome, on the kinds of causes and, for each
// cause, on the first events that violate the law.
func TestTheCheckerReadsTheLawsAsWritten(t *testing.T) {
	seen := make(chan map[string]int, len(Names()))
	t.Run("scenarios", func(t *testing.T) {
		for i, name := range Names() {
			if i%testkit.Size(3, 1, 1) > 0 {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				seen <- compareReadings(t, named(t, name))
			})
		}
	})
	close(seen)
	total := map[string]int{}
	for some := range seen {
		for what, n := range some {
			total[what] += n
		}
	}
	for _, law := range checker.Laws {
		for _, outcome := range []string{slow.Holds, slow.Violated} {
			if what := string(law) + " " + outcome; total[what] == 0 {
				t.Errorf("in no run: %s", what)
			}
		}
	}
	t.Logf("%v", total)
}

// compareReadings judges runs of the scenario, under its own plan and under random plans, with both implementations of
// the laws. The random faults come early or are spread over the run. In some runs the clients read and write more, so
// that more data can be lost.
func compareReadings(t *testing.T, s *Scenario) map[string]int {
	seen := map[string]int{}
	for variant := range 4 {
		if !testkit.Full() && variant%2 != len(s.Name)%2 {
			continue
		}
		if variant == 2 {
			for i := range s.Clients {
				w := &s.Clients[i].Work
				w.Cycles, w.Writes, w.Compute = w.Cycles+1, w.Writes+2, 50*time.Millisecond
			}
		}
		horizon := min(s.Limit, []time.Duration{s.Limit, 15 * time.Second, 3 * time.Second, 15 * time.Second}[variant])
		random, err := draw.NewGenerator(draw.Default(), s.Targets(), horizon)
		if err != nil {
			t.Fatal(err)
		}
		r := NewRunner(s)
		for i := range plansPerScenario() / 4 {
			seed := uint64(4*i + variant)
			plan := nemesis.Plan{Scenario: s.Name, Seed: seed, Faults: random.Draw(seed)}
			if seed == 0 {
				plan = s.Plan(seed)
			}
			compareReadingsOf(t, r, plan, seen)
		}
	}
	return seen
}

func compareReadingsOf(t *testing.T, r *Runner, plan nemesis.Plan, seen map[string]int) {
	result, err := r.Run(plan)
	if err != nil {
		t.Fatal(err)
	}
	v := checker.Check(result.History)
	for _, want := range slow.Check(result.History) {
		got := v.Of(checker.Law(want.Law))
		var reported []slow.Reported
		for b := range got.Breaches() {
			reported = append(reported, slow.Reported{Cause: b.Cause.String(), Witness: b.Witness})
		}
		if difference := want.Differs(got.Outcome.String(), reported); difference != "" {
			t.Errorf("%s: %s: the checker says %s, events %v (%s)\nthe law read literally %+v\n%s", want.Law,
				difference, got.Came(), got.Witness, got.Explanation, want, plan)
		}
		seen[want.Law+" "+want.Outcome]++
		if len(got.Further) > 0 {
			seen["further "+want.Law]++
		}
	}
}
