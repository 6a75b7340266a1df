package scenarios

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestAClientKnowsWhyItsWriteWasRefused compares the reason that a client records for each refused write with the one
// that the resource records. The resources check tokens, values, or both.
func TestAClientKnowsWhyItsWriteWasRefused(t *testing.T) {
	seen := map[string]int{}
	for _, resource := range []string{"fencing: on", "fencing: refuse-equal", "writes: compare-and-set",
		"fencing: on, writes: compare-and-set", "fencing: refuse-equal, writes: compare-and-set"} {
		for _, clients := range []string{"2", "3"} { // the third one writes before the two that are paused
			s := parseText(t, "name: x\nservers: {redis: 1}\nclients: "+clients+"\nlock: {protocol: fenced, ttl: 3s}\n"+
				"work: {cycles: 1, writes: 1}\nlimit: 60s\nresource: {"+resource+"}\nfaults:\n"+
				"  - pause client-1 for 8s at before-write\n  - pause client-2 for 15s at before-write\n")
			r, err := NewRunner(s).Run(s.Plan(1))
			if err != nil {
				t.Fatal(err)
			}
			at := map[string]history.Why{} // the resource's reasons, by the value that was refused; each is unique
			for _, e := range r.History.Events {
				switch {
				case e.Type != history.Fail:
				case e.F == history.Apply && e.Op == history.Write:
					at[e.Value] = e.Why
				case e.F == history.Write:
					if want := at[e.Value]; e.Why != want {
						t.Errorf("%s: the client records %q, the resource %q", resource, e.Why, want)
					}
					seen[resource+": "+string(e.Why)]++
				}
			}
		}
	}
	for _, want := range []string{"fencing: on: stale token", "writes: compare-and-set: compare failed",
		"fencing: refuse-equal, writes: compare-and-set: stale token",
		"fencing: refuse-equal, writes: compare-and-set: compare failed"} {
		if seen[want] == 0 {
			t.Errorf("no write was refused with %s; refused were %v", want, seen)
		}
	}
}
