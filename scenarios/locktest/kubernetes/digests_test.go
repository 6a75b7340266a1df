package kubernetes

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// TestEqualSeedsGiveEqualDigests checks, for each client, that equal seeds give equal runs under the default mix.
func TestEqualSeedsGiveEqualDigests(t *testing.T) {
	for _, client := range clients {
		t.Run(client.Name, func(t *testing.T) { matrixtest.EqualSeedsGiveEqualRuns(t, client.Config, 10) })
	}
}

// TestTenThousandSchedules checks that ten thousand schedules for each client can be run and judged in bounded memory.
func TestTenThousandSchedules(t *testing.T) {
	for _, client := range clients {
		t.Run(client.Name, func(t *testing.T) { matrixtest.MemoryStaysBounded(t, client.Config) })
	}
}
