package libraries

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// TestEqualSeedsGiveEqualDigests: for each library, equal seeds give equal runs under the default mix.
func TestEqualSeedsGiveEqualDigests(t *testing.T) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) { matrixtest.EqualSeedsGiveEqualRuns(t, l.config(false), 5) })
	}
}

// TestTenThousandSchedules: ten thousand schedules of each library can be run and judged in bounded memory.
func TestTenThousandSchedules(t *testing.T) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) { matrixtest.MemoryStaysBounded(t, l.config(false)) })
	}
}
