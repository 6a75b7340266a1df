package libraries

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// TestEqualSeedsGiveEqualDigests checks, for each library, that equal seeds give equal runs under the default mix.
func TestEqualSeedsGiveEqualDigests(t *testing.T) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) { matrixtest.EqualSeedsGiveEqualRuns(t, l.config(false), 5) })
	}
}

// TestTenThousandSchedules checks that ten thousand schedules of each library can be run and judged in bounded memory.
func TestTenThousandSchedules(t *testing.T) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) { matrixtest.MemoryStaysBounded(t, l.config(false)) })
	}
}
