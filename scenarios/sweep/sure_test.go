package sweep

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
)

// TestAllPointsBesideEdgesAreSure sweeps a range in which the outcome depends on the seed. At first, each point has a
// single run. More runs for the points next to an edge may move the edge. At the end of the sweep, the points next to
// every edge must have enough runs.
func TestAllPointsBesideEdgesAreSure(t *testing.T) {
	s := sweeping{scenario: "testdata/chance.yaml", vary: []string{"work.hold=950ms..1.1s/5ms"}, seeds: 1,
		sure: 20}.run(t)
	edges := 0
	for _, e := range s.sides() {
		a, b := s.Points[e.a], s.Points[e.b]
		if !flips(a, b, checker.MutualExclusion) {
			continue
		}
		edges++
		for _, p := range []*Point{a, b} {
			if !s.sure(p, checker.MutualExclusion) {
				t.Errorf("%s is beside an edge, and had too few runs", p.Levels[0].Text)
			}
		}
	}
	if edges == 0 {
		t.Error("there is no edge")
	}
}
