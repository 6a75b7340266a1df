package claims

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/slow"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// TestNumbersOfRareStories recomputes the numbers of stories that only one run in thousands tells: each run has a
// subject and a round (see Runs).
func TestNumbersOfRareStories(t *testing.T) {
	rare := map[string][]int{"one-owner": {12}, "readers-counted": {12},
		"kubernetes-own-lease-duration": {19}, "barging": {11}, "extension-uncapped": {4}, "clients-clock": {12},
		"permit-list": {16}}
	w, stories := NewWrongs(t), 0
	for _, s := range Subjects(t) {
		for _, round := range rare[s.Name] {
			r := newRun(t, s, round, map[*scenarios.Scenario]*Walk{})
			p, literal := proof{Run: r, sections: Sections(r.History), said: map[string]int{}}, slow.Check(r.History)
			for f := range explained(r.Verdict) {
				p.begin(f, literal)
				_, wrong := p.check()
				for _, is := range wrong {
					w.Add(is.kind, &Story{r, f}, "%s", is.what)
				}
			}
			stories++
		}
		delete(rare, s.Name)
	}
	if w.Count("") > 0 || len(rare) > 0 {
		t.Errorf("%d numbers of %d runs are wrong; there are no subjects %v", w.Count(""), stories, rare)
	}
}
