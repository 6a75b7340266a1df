package scenarios

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestRemediesAskForNothingThatIsDone checks that the remedies for the catalog's scenarios do not suggest anything that
// the scenario already does, or that applies only to another kind of lock.
func TestRemediesAskForNothingThatIsDone(t *testing.T) {
	asks := map[history.Measure]string{history.Fencing: "Guard the data with a fencing token",
		history.FsyncAlways:     "appendfsync always",
		history.WaitForReplicas: "Send WAIT", history.Expiry: "Give every lock an expiry",
		history.OwnerCheck:   "Delete only after checking",
		history.ElapsedCheck: "Start measuring the validity", history.DriftAllowance: "Subtract an allowance",
		history.RandomRetry: "Retry after a random delay"}
	named := map[history.Measure]int{}
	drifting, err := Parse("drifting.yaml", []byte("name: drifting\nservers: {redis: 1}\nlock: {protocol: set-nx-px, "+
		"elapsed-check: on}\nwork: {hold: validity, check-validity: on}\nfaults:\n  - drift client-1 clock by "+
		"-9000ppm from 0s\n"))
	if err != nil {
		t.Fatal(err)
	}
	all := []*asWritten{runAsWritten(t, drifting)}
	for _, name := range Names() {
		all = append(all, catalogueAsWritten(t, name))
	}
	for _, r := range all {
		s, name, result := r.scenario, r.scenario.Name, r.result
		for _, f := range r.verdict.Findings {
			if f.Outcome == checker.Violated && f.Remedy == "" {
				t.Errorf("%s: no remedy against %s", name, f.Cause)
			}
			for measure, words := range asks {
				if !strings.Contains(f.Remedy, words) {
					continue
				}
				if named[measure]++; result.History.Header.Applies(measure) {
					t.Errorf("%s applies %s already, and its remedy is: %s", name, measure, f.Remedy)
				}
			}
			if s.Servers.consensus() && strings.Contains(f.Remedy, "appendfsync") {
				t.Errorf("%s is not on Redis, and its remedy is: %s", name, f.Remedy)
			}
		}
	}
	for measure := range asks {
		if named[measure] == 0 {
			t.Errorf("no remedy names %s", measure)
		}
	}
}
