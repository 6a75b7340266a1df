package libraries

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// TestEqualSeedsGiveEqualDigests: equal seeds give equal runs of each library, under the default mix.
func TestEqualSeedsGiveEqualDigests(t *testing.T) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) { matrixtest.EqualSeedsGiveEqualRuns(t, l.config(false), 5) })
	}
}

// TestTenThousandSchedules: ten thousand schedules of each library can be judged.
func TestTenThousandSchedules(t *testing.T) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) { matrixtest.MemoryStaysBounded(t, l.config(false)) })
	}
}
