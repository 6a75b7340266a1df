package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// TestFormerNamesOfRequestsAreAccepted checks that a fault may use a request's name from an earlier version. The fault
// must have the same effect as one with the current name.
func TestFormerNamesOfRequestsAreAccepted(t *testing.T) {
	for _, b := range backends {
		for former, now := range b.Former {
			if strings.HasSuffix(now, "…") { // in a fault, this name would be ambiguous
				continue
			}
			if !slices.ContainsFunc(Names(), func(name string) bool {
				s := named(t, name)
				return s.Servers.Backend == b.Kind && strikesAlike(t, s, former, now)
			}) {
				t.Errorf("%s: client-1 of no scenario sends %s", b.Kind, now)
			}
		}
	}
}

// strikesAlike reports whether client-1 sends a request with the current name. If so, it also checks that a fault has
// the same effect under the request's former and current names.
func strikesAlike(t *testing.T, s *Scenario, former, now string) bool {
	t.Helper()
	const fault = "pause client-1 for 1s after its "
	run := func(name string) (text string, missed []nemesis.Missed) {
		plan := s.Plan(1)
		plan.Faults = parsed(t, []string{fault + name})
		result, err := NewRunner(s).Run(plan)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := history.Encode(&b, result.History); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(b.String(), fault+former+`"`, fault+now+`"`), result.Missed
	}
	want, missed := run(now)
	if len(missed) > 0 {
		return false
	}
	if got, missed := run(former); got != want || len(missed) > 0 {
		t.Errorf("%s: %s strikes otherwise than %s; missed: %v", s.Name, former, now, missed)
	}
	return true
}
