package scenarios

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
)

// TestTrialsFindTheFaultsThatAViolationNeeds tries plans of a few faults and of a hundred, most of which do nothing.
func TestTrialsFindTheFaultsThatAViolationNeeds(t *testing.T) {
	long, other, late := "pause client-1 for 4s at 50ms", "pause client-1 for 3.9s at 60ms", "pause client-2 for 1ms at 20s"
	for _, test := range []struct {
		why   string
		ttl   string
		plan  []string
		needs [][]string // the faults of each trial that made a difference; none: all faults of the plan
	}{
		{"one pause", "2s", []string{late, long}, [][]string{{long}}},
		{"each of two would do", "2s", []string{long, late, other}, [][]string{{long, other}}},
		{"nothing needs a fault", "50ms", []string{late}, nil},
	} {
		for _, idle := range []int{0, 100} {
			s, err := Parse("trial.yaml", []byte("name: trial\nservers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: "+test.ttl+"}\nlimit: 60s\n"))
			if err != nil {
				t.Fatal(err)
			}
			lines := test.plan
			for i := range idle {
				lines = append(lines, fmt.Sprintf("pause redis-1 for 1us at %dms", 30_000+i))
			}
			p := s.Plan(1)
			p.Faults = parsed(t, lines)
			result, err := NewRunner(s).Run(p)
			if err != nil {
				t.Fatal(err)
			}
			v := checker.Check(result.History)
			if err := NewRerun(s).Try(p, result.History, &v); err != nil {
				t.Fatal(err)
			}
			f := v.Of(checker.MutualExclusion)
			var needs [][]string
			for _, trial := range f.Trials {
				if trial.Needed {
					needs = append(needs, trial.Faults)
				}
			}
			if f.Outcome != checker.Violated || !slices.EqualFunc(needs, test.needs, slices.Equal[[]string]) {
				t.Errorf("%s, %d idle faults: %s, needs %q, want %q", test.why, idle, f.Outcome, needs, test.needs)
			}
		}
	}
}
