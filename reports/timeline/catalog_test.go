package timeline_test

import (
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/timeline"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// TestTheCatalogsTimelines checks the timeline of each scenario in the catalog, at several widths: its legend explains
// every mark that is drawn and no other, and each write is tied to the call that sent it.
func TestTheCatalogsTimelines(t *testing.T) {
	for _, name := range scenarios.Names() {
		s, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		result, err := scenarios.NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lanes := timeline.Arrange(result.History, checker.Check(result.History).Findings)
		for _, width := range []int{60, 80, 120, 160} {
			for _, e := range timeline.LegendErrors(lanes, width) {
				t.Errorf("%s, %d columns: %s", name, width, e)
			}
		}
		for _, e := range slices.Concat(timeline.ChartLegendErrors(lanes), timeline.WrongCalls(lanes)) {
			t.Errorf("%s: %s", name, e)
		}
	}
}
