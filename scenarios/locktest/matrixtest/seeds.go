package matrixtest

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/sim"
)

// EqualSeedsGiveEqualRuns explores the given number of seeds twice, in separate processes. It fails the test if the two
// runs with a seed differ. With FENCEPOST_FULL=1, it explores 200 seeds ten times instead.
func EqualSeedsGiveEqualRuns(t *testing.T, c locktest.Config, seeds int) {
	t.Helper()
	times := 2
	if c.Seeds = seeds; testkit.Full() {
		c.Seeds, times = 200, 10
	}
	first, unequal := map[uint64]sim.Digest{}, map[uint64]bool{}
	for range times {
		r, ok := explored(t, c)
		if !ok {
			continue
		}
		if len(r.Digests()) != c.Seeds-r.Ignored {
			t.Fatalf("only %d of %d runs (one for each seed) could be judged", len(r.Digests()), c.Seeds)
		}
		for seed, digest := range r.Digests() {
			if was, known := first[seed]; known && was != digest {
				unequal[seed] = true
			}
			first[seed] = digest
		}
	}
	if len(unequal) > 0 {
		t.Errorf("%d seeds of %d gave different runs: %v", len(unequal), c.Seeds, unequal)
	}
}

// MemoryStaysBounded first explores a thousand seeds and then ten thousand. The test fails if any run is not judged, or
// if the second exploration uses more than twice as much memory as the first. MemoryStaysBounded is skipped unless
// FENCEPOST_FULL=1.
func MemoryStaysBounded(t *testing.T, c locktest.Config) {
	t.Helper()
	testkit.FullOnly(t)
	var memory int64
	for _, c.Seeds = range []int{1000, 10_000} {
		r, ok := explored(t, c)
		if !ok {
			continue
		}
		if r.Runs != c.Seeds {
			t.Errorf("%d runs of %d", r.Runs, c.Seeds)
		}
		if memory > 0 && r.PeakMemory > 2*memory {
			t.Errorf("all runs needed %d MB of memory, more than twice the %d MB that a tenth of them needed",
				r.PeakMemory>>20, memory>>20)
		}
		memory = r.PeakMemory
		t.Logf("%d runs: %.1f s of CPU, at most %d MB per process, %d stopped", r.Runs, r.CPU.Seconds(),
			r.PeakMemory>>20, r.Ignored)
	}
}

// explored explores a lock. It fails the test for each run that could not be judged, except for runs with goroutines
// that the Config ignores.
func explored(t *testing.T, c locktest.Config) (r *locktest.Report, ok bool) {
	t.Helper()
	if r, ok = locktest.Explore(t, c); ok {
		for _, f := range r.Failures {
			t.Errorf("seed %d: %s", f.Seed, f.Text)
		}
	}
	return r, ok
}
