package ensembles

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// TestEqualSeedsGiveEqualDigests: equal seeds give equal runs of each client, under the default mix.
func TestEqualSeedsGiveEqualDigests(t *testing.T) {
	for _, client := range clients {
		t.Run(client.Name, func(t *testing.T) { matrixtest.EqualSeedsGiveEqualRuns(t, client.Config, 10) })
	}
}

// TestTenThousandSchedules: ten thousand schedules of each client can be judged.
func TestTenThousandSchedules(t *testing.T) {
	for _, client := range clients {
		t.Run(client.Name, func(t *testing.T) { matrixtest.MemoryStaysBounded(t, client.Config) })
	}
}
