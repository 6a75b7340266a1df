package ensembles

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/sim"
)

// unsteady bounds the share of seeds, one in so many, that may give different runs: a bubble wakes the timers of one
// instant in random order, and loops of etcd's client wake at the same instants.
const unsteady = 10

// TestEqualSeedsGiveEqualDigests: of each client, under the default mix, in processes of their own, but for few.
// FENCEPOST_FULL=1 asks for 200 seeds, ten times each.
func TestEqualSeedsGiveEqualDigests(t *testing.T) {
	seeds, times := 10, 2
	if full() {
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
			if len(unequal)*unsteady > seeds {
				t.Errorf("%d seeds of %d gave different runs: %v", len(unequal), seeds, unequal)
			}
			t.Logf("%d seeds of %d gave different runs: %v", len(unequal), seeds, unequal)
		})
	}
}

// TestTenThousandSchedules of each client can be judged, in the memory that a thousand take. FENCEPOST_FULL=1 asks for
// it.
func TestTenThousandSchedules(t *testing.T) {
	if !full() {
		t.Skip("FENCEPOST_FULL=1 asks for it")
	}
	for _, client := range clients {
		t.Run(client.Name, func(t *testing.T) {
			c := client.Config
			var memory int64
			for _, schedules := range []int{1000, 10_000} {
				c.Seeds = schedules
				r, ok := locktest.Explore(t, c)
				if !ok {
					continue
				}
				if r.Runs != schedules || len(r.Failures) > 0 {
					t.Errorf("%d runs, %d failures: %v", r.Runs, len(r.Failures), r.Failures[:min(len(r.Failures), 1)])
				}
				if memory > 0 && r.Memory > 2*memory {
					t.Errorf("%d MB, and %d MB for a tenth of the runs", r.Memory>>20, memory>>20)
				}
				memory = r.Memory
				t.Logf("%d runs: %.1f s of CPU, at most %d MB a process", r.Runs, r.CPU.Seconds(), r.Memory>>20)
			}
		})
	}
}
