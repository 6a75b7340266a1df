package checker

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestSemaphoresAreReadAsWritten checks that the checker and the literal implementation of the laws (package slow)
// agree on locks with two permits. It uses small histories that contain almost everything that a history can record.
func TestSemaphoresAreReadAsWritten(t *testing.T) {
	rounds := testkit.Size(500, 2_000, 60_000)
	seen := compareReadings(t, rounds, func(g *gossip, round int) {
		g.anything(12 + round%30)
		g.rewrite()
		g.h.Header.Permits = 2
		for i := range g.h.Events {
			g.h.Events[i].Shared = false
		}
	})
	for _, law := range []Law{LeaseExclusion, MutualExclusion} {
		for _, o := range []Outcome{Unchecked, Holds, Violated} {
			if n := seen[string(law)+" "+o.String()]; n < rounds/500 {
				t.Errorf("%s: %v in %d of %d rounds only", law, o, n, rounds)
			}
		}
	}
	for _, o := range []Outcome{Holds, Violated, Undecided} {
		if n := seen[string(ResourceSafety)+" "+o.String()]; n > 0 {
			t.Errorf("%s is %v in %d rounds: the holders of a semaphore may write at the same time", ResourceSafety, o,
				n)
		}
	}
}
