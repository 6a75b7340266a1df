package claims

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios"
)

// TestNumbersOfRareStories recomputes the numbers of stories that only one run in thousands tells: each run has a
// subject and a round (see Runs).
func TestNumbersOfRareStories(t *testing.T) {
	rare := map[string]int{"one-owner": 12, "readers-counted": 12, "kubernetes-own-lease-duration": 19, "barging": 11,
		"extension-uncapped": 4, "clients-clock": 12, "permit-list": 16}
	w := NewWrongs(t)
	for _, s := range Subjects(t) {
		round, ok := rare[s.Name]
		if !ok {
			continue
		}
		delete(rare, s.Name)
		if recompute(newRun(t, s, round, map[*scenarios.Scenario]*Walk{}), w, map[string]int{}) == 0 {
			t.Errorf("%s tells no story in round %d", s.Name, round)
		}
	}
	if w.Count("") > 0 || len(rare) > 0 {
		t.Errorf("%d numbers are wrong; there are no subjects %v", w.Count(""), rare)
	}
}
