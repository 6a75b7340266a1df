package corpus

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/verify"
)

// TestEverySingleFaultFindsMutants checks that verifying all single faults in one run catches mutants, including some
// that random faults catch only once in thousands of runs. It logs the number of runs, which is at most a thousand per
// mutant. With FENCEPOST_MUTANTS=1 it is at most six thousand, which takes eight minutes of processor time.
func TestEverySingleFaultFindsMutants(t *testing.T) {
	names := []string{"plain-del", "renewed-no-fence", "no-persistence"}[:testkit.Size(1, 3, 3)]
	caught, budget := 0, 1000
	if os.Getenv("FENCEPOST_MUTANTS") != "" {
		budget = 6000
	}
	for _, m := range mutants {
		if !testkit.Full() && !slices.Contains(names, m.Name) {
			continue
		}
		s, err := m.scenario()
		if err != nil {
			t.Fatal(err)
		}
		v, err := verify.Scenario(t.Context(), s, verify.Options{Faults: 1, Requests: true, Seed: 1, Budget: budget,
			Crew: campaign.Crew{Workers: 1}})
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		runs := 0
		for _, l := range v.Lengths {
			runs += l.Runs
		}
		how := "not found"
		if v.Found != nil {
			caught++
			how = fmt.Sprintf("%s: %v", v.Found.Law, v.Found.Plan.Faults)
		}
		t.Logf("%-28s %6d %s", m.Name, runs, how)
	}
	if want := testkit.Size(len(names), len(names), 30); caught < want {
		t.Errorf("%d mutants were found, not %d", caught, want)
	}
}
