package locktest_test

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// A test can use the result of its runs in any way. This test logs an upper bound on the violation rate, given that the
// runs did not show any violation.
func ExampleExplore() {
	TestLeases := func(t *testing.T) {
		r, ok := locktest.Explore(t, locktest.Config{New: newMutex, TTL: lease, Faults: locktest.Pauses,
			Laws: locktest.LeaseLaws, Seeds: 200})
		if !ok {
			return // this process performs the runs of another one
		}
		for _, f := range r.Failures {
			t.Errorf("seed %d could not be judged: %s", f.Seed, f.Text)
		}
		if n := r.Violated(checker.LeaseExclusion); n > 0 {
			t.Errorf("two leases overlapped in %d of %d runs", n, r.Runs)
		}
		t.Log(r.Confidence)
	}
	_ = TestLeases
}
