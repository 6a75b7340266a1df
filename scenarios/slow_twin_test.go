package scenarios

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/slow"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// plansPerScenario is how many random plans of each scenario both checkers judge; every scenario's own plan comes on top.
func plansPerScenario() int {
	if testing.Short() || raceEnabled {
		return 4
	}
	return 300
}

// TestTheCheckerReadsTheLawsAsWritten lets the checker and the literal reading of the laws judge runs of the catalogue
// under random faults. They must agree on every law: on the outcome, on the kind of cause, and on the first events that
// break it.
func TestTheCheckerReadsTheLawsAsWritten(t *testing.T) {
	seen := make(chan map[string]int, len(Names()))
	t.Run("scenarios", func(t *testing.T) {
		for _, name := range Names() {
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
	t.Log(total)
}

func compareReadings(t *testing.T, s *Scenario) map[string]int {
	random, err := nemesis.NewGenerator(nemesis.DefaultMix(), s.Targets(), min(s.Limit, 15*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	r := NewRunner(s)
	for seed := range uint64(plansPerScenario()) {
		plan := nemesis.Plan{Scenario: s.Name, Seed: seed, Faults: random.Draw(seed)}
		if seed == 0 {
			plan = s.Plan(seed)
		}
		result, err := r.Run(plan)
		if err != nil {
			t.Fatal(err)
		}
		v := checker.Check(result.History)
		for _, want := range slow.Check(result.History) {
			got := v.Of(checker.Law(want.Law))
			if difference := disagreement(got, want); difference != "" {
				t.Errorf("%s: %s: the checker says %v by %v, events %v (%s)\nthe law read literally %+v\n%s", want.Law, difference, got.Outcome,
					got.Cause, got.Witness, got.Explanation, want, plan)
			}
			seen[want.Law+" "+want.Outcome]++
		}
	}
	return seen
}

// disagreement says in what the two judges differ, "" if in nothing.
func disagreement(got checker.Finding, want slow.Finding) string {
	if got.Outcome.String() != want.Outcome {
		return "outcome"
	}
	for _, i := range want.Events {
		if !slices.Contains(got.Witness, i) {
			return "witness"
		}
	}
	if !strings.HasPrefix(got.Cause.String(), want.Cause) {
		return "cause"
	}
	return ""
}
