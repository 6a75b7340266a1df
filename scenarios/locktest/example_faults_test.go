package locktest_test

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// Kinds of faults that are not drawn by default are drawn if they are named: here the lock's key is evicted, or deleted
// by an operator. No lease survives that, but the token counter is another key, so the tokens still protect the data.
func ExampleFaults() {
	TestFencedAgainstOperators := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newFenced, TTL: lease, Faults: locktest.Faults{"evict key", "delete key"},
			Precautions: locktest.Precautions{Fences: true}, Laws: locktest.FencedLaws})
	}
	_ = TestFencedAgainstOperators
}
