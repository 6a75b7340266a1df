//go:build go1.26 && !go1.28 && !race

package bubble

import (
	"runtime"
	"sync"
	"testing"
)

// TestPoolsAreEmptied checks that EmptyPools does not leave any value in any pool, not even values that were put there
// before the last garbage collection.
func TestPoolsAreEmptied(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if forgetUnused() == nil {
		t.Fatal("the function that empties pools is not found in package sync")
	}
	var pools [3]sync.Pool
	var values [4]int
	for round := range 3 {
		for i := range pools {
			pools[i].Put(&values[round])
			pools[i].Put(&values[round])
		}
		if round == 1 {
			runtime.GC() // the values in the pools now count as not used lately
			pools[0].Put(&values[round])
		}
		EmptyPools()
		for i := range pools {
			if v := pools[i].Get(); v != nil {
				t.Errorf("round %d: pool %d still has a value of round %v", round, i, v)
			}
		}
	}
	runtime.GC() // the collector can deal with what EmptyPools leaves
	pools[0].Put(&values[3])
	if v := pools[0].Get(); v != &values[3] {
		t.Errorf("a pool that was emptied returns %v, not the value that was put into it", v)
	}
}
