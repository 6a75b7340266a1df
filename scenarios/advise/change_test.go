package advise

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// needMore lists reasons why the format may refuse a change of protocol unless other settings change too.
var needMore = []string{
	"as client-go requires",                 // the renew deadline must be less than the TTL
	"a lock has no validity that could end", // and the client holds the lock for as long as it is valid
	"tasks share one lock object only",      // and the client has several tasks
	"a client keeps its place by asking",    // before the place ends
}

// TestAChangeOfProtocolGivesAValidScenario checks that the format accepts random scenarios after their protocol has
// been changed to any other, whatever settings they have.
func TestAChangeOfProtocolGivesAValidScenario(t *testing.T) {
	tried := 0
	for seed := range uint64(testkit.Size(8, 150, 3000)) {
		s, _ := assemble(t, seed+1)
		s.Faults = nil
		b, err := newSubject(parsed(t, string(s.Text())), Options{From: 1, Seeds: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range locks.Definitions() {
			if d.Name == locks.FromLibrary {
				continue
			}
			doc := b.doc.Clone()
			apply(doc, b.protocol(d).edits)
			_, err := scenarios.Parse("x", []byte(doc.String()))
			known := func(text string) bool { return strings.Contains(err.Error(), text) }
			if err != nil && !slices.ContainsFunc(needMore, known) {
				t.Errorf("seed %d to %s: %v\n%s", seed+1, d.Name, err, s.Text())
			}
			if err == nil {
				tried++
			}
		}
	}
	if tried < testkit.Size(30, 500, 500) {
		t.Errorf("%d changes tried", tried)
	}
}
