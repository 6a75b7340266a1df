package advise

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// TestAdvisedFilesKeepWhatIsPromised explores the scenario file that the advice produced, with faults of the kinds that
// broke the scenario and with seeds that the advice has not used. Promises that are kept according to the advice must
// not be broken. A promise that no lock can keep may be broken only in the ways that the advice states.
//
// FENCEPOST_ADVICE contains names of the catalog's scenarios, separated by commas, or is "all". Testing all takes about
// an hour on one core.
func TestAdvisedFilesKeepWhatIsPromised(t *testing.T) {
	seeds, plans, names := someSeeds(), testkit.Size(100, 300, 2000), []string{"no-elapsed-check"}
	if testkit.Full() {
		seeds = 100
		names = []string{"failover-loses-lock", "setnx-expire-crash-between", "get-then-del-race",
			"single-restart-forgets",
			"restart-everysec", "no-elapsed-check"}
	}
	switch asked := os.Getenv("FENCEPOST_ADVICE"); asked {
	case "":
	case "all":
		names = scenarios.Names()
	default:
		names = strings.Split(asked, ",")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if a := adviceFor(t, name, seeds); len(a.Broken) > 0 && a.saved() {
				explorationKeeps(t, a, plans)
			} else if os.Getenv("FENCEPOST_ADVICE") == "" {
				t.Errorf("broken: %v, saved: %v", a.Broken, a.saved())
			}
		})
	}
}

// firstUnused is larger than any seed used for advice in these tests.
const firstUnused = 1_000_000

func explorationKeeps(t *testing.T, a *Advice, plans int) {
	best := a.Mending[0]
	text, err := a.File(best)
	if err != nil {
		t.Fatal(err)
	}
	s := parsed(t, string(text))
	s.Mix = a.subject.mix(s, best.Changes)
	e, err := search.NewExploration(s, firstUnused, plans, search.Whole)
	if err == nil {
		err = e.Run(t.Context(), s, 0, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range e.Findings {
		stated := slices.ContainsFunc(best.Known,
			func(b Breach) bool { return b.Law == f.Law && b.Cause.Kind == f.Cause.Kind })
		if a.subject.promised.Covers(f.Law, f.Cause) && !stated {
			t.Errorf("%s: %s is broken in %d of %d runs, first with seed %d: %s\n%s", best, f.Law, f.Runs, e.Done(),
				f.First, f.Cause, text)
		}
	}
	t.Logf("%s: %d runs, broken: %v", best, e.Done(), e.Findings)
}
