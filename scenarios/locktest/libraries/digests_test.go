package libraries

import (
	"os"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/sim"
)

// TestEqualSeedsGiveEqualDigests: of each library, under the default mix, in processes of their own. FENCEPOST_FULL=1
// asks for 200 seeds, ten times each.
func TestEqualSeedsGiveEqualDigests(t *testing.T) {
	seeds, times := 5, 2
	if os.Getenv("FENCEPOST_FULL") != "" {
		seeds, times = 200, 10
	}
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) {
			c := l.config(false)
			c.Seeds = seeds
			first := map[uint64]sim.Digest{}
			for range times {
				r, ok := locktest.Explore(t, c)
				if !ok {
					continue
				}
				if judgeable(t, r); len(r.Digests()) != seeds-r.Tolerated {
					t.Fatalf("%d runs of %d seeds could be judged", len(r.Digests()), seeds)
				}
				for seed, digest := range r.Digests() {
					if was, known := first[seed]; known && was != digest {
						t.Errorf("seed %d: %x, then %x", seed, was, digest)
					}
					first[seed] = digest
				}
			}
		})
	}
}

// TestTenThousandSchedules of each library can be judged, in the memory that a thousand take. FENCEPOST_FULL=1 asks for
// it.
func TestTenThousandSchedules(t *testing.T) {
	if os.Getenv("FENCEPOST_FULL") == "" {
		t.Skip("FENCEPOST_FULL=1 asks for it")
	}
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) {
			c := l.config(false)
			var memory int64
			for _, schedules := range []int{1000, 10_000} {
				c.Seeds = schedules
				r, ok := locktest.Explore(t, c)
				if !ok {
					continue
				}
				judgeable(t, r)
				if r.Runs != schedules {
					t.Errorf("%d runs", r.Runs)
				}
				if memory > 0 && r.Memory > 2*memory {
					t.Errorf("%d MB, and %d MB for a tenth of the runs", r.Memory>>20, memory>>20)
				}
				memory = r.Memory
				t.Logf("%d runs: %.1f s of CPU, at most %d MB a process, %d stopped", r.Runs, r.CPU.Seconds(),
					r.Memory>>20, r.Tolerated)
			}
		})
	}
}
