package kubernetes

import (
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest/steady"
)

// unsteady is how many of a hundred seeds may give different runs: README.md says how many did.
const unsteady = 1

// TestEqualSeedsGiveEqualDigests: of each client, under the default mix.
func TestEqualSeedsGiveEqualDigests(t *testing.T) {
	for _, client := range clients {
		t.Run(client.Name, func(t *testing.T) { steady.EqualSeeds(t, client.Config, 10, unsteady) })
	}
}

// TestTenThousandSchedules of each client can be judged.
func TestTenThousandSchedules(t *testing.T) {
	for _, client := range clients {
		t.Run(client.Name, func(t *testing.T) { steady.TenThousand(t, client.Config) })
	}
}
