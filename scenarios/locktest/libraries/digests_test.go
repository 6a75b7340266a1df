package libraries

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// TestEqualSeedsGiveEqualDigests checks, for each library, that equal seeds give equal runs under the default mix.
//
// The cluster client of go-redis lists its nodes in the random order of a Go map, one minute after it has learned of
// them (osscluster.go, line 758), and later asks them in an order that depends on this list. So runs under the default
// mix, which can take longer than a minute, may differ. The faults that this library gets instead are soon over.
func TestEqualSeedsGiveEqualDigests(t *testing.T) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) {
			c := l.config(false)
			if l.Name == "redislock-cluster" {
				c.Plan = []string{"pause client-1 for 3s after acquired", "pause redis-2 for 2s at 1s",
					"break client-2 | redis-3 before reply 2"}
			}
			matrixtest.EqualSeedsGiveEqualRuns(t, c, 5)
		})
	}
}

// TestTenThousandSchedules checks that ten thousand schedules of each library can be run and judged in bounded memory.
func TestTenThousandSchedules(t *testing.T) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) { matrixtest.MemoryStaysBounded(t, l.config(false)) })
	}
}
