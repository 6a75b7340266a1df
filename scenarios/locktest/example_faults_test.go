package locktest_test

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// Some kinds of faults are drawn only if they are listed. Here the lock's key is evicted, or deleted by an operator. No
// lease survives that, but the token counter has a key of its own, so the tokens still protect the data.
func ExampleFaults() {
	TestFencedAgainstOperators := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newFenced, TTL: lease, Faults: locktest.Faults{"evict key", "delete key"},
			Precautions: locktest.Precautions{Fences: true}, Laws: locktest.FencedLaws})
	}
	_ = TestFencedAgainstOperators
}
