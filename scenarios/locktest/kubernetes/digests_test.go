package kubernetes

import (
	"os"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/sim"
)

// TestEqualSeedsGiveEqualDigests: of each client, under the default mix, in processes of their own. FENCEPOST_FULL=1
// asks for 200 seeds, ten times each, of which one in a hundred may differ: README.md says how many did.
func TestEqualSeedsGiveEqualDigests(t *testing.T) {
	seeds, times := 10, 2
	if os.Getenv("FENCEPOST_FULL") != "" {
		seeds, times = 200, 10
	}
	for _, client := range clients {
		t.Run(client.Name, func(t *testing.T) {
			c := client.Config
			c.Seeds = seeds
			first, unequal := map[uint64]sim.Digest{}, map[uint64]bool{}
			for range times {
				r, ok := locktest.Explore(t, c)
				if !ok {
					continue
				}
				if len(r.Digests()) != seeds {
					t.Fatalf("%d runs of %d seeds could be judged: %v", len(r.Digests()), seeds, r)
				}
				for seed, digest := range r.Digests() {
					if was, known := first[seed]; known && was != digest {
						unequal[seed] = true
					}
					first[seed] = digest
				}
			}
			if len(unequal) > seeds/100 {
				t.Errorf("%d seeds of %d gave different runs: %v", len(unequal), seeds, unequal)
			}
		})
	}
}
