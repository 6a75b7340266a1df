package locktest_test

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// The test tries each single pause of a small run instead of random pauses. Few clients and cycles keep the number of
// faults small.
func ExampleConfig_eachFault() {
	TestEachPause := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newMutex, TTL: lease, EachFault: true, Clients: 2, Cycles: 1,
			Hold: 300 * time.Millisecond, Faults: locktest.Pauses, Laws: locktest.LeaseLaws})
	}
	_ = TestEachPause
}
