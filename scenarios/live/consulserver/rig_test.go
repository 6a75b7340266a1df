//go:build linux

package consulserver

import (
	"os"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

func TestMain(m *testing.M) {
	process.Main()
	os.Exit(m.Run())
}

func members(n int) []sim.ProcessID { return fleettest.Names("consul", n) }

// quick is the raft multiplier in tests: an election takes one to two seconds.
const quick = 1

// start starts real servers in a real-time world.
func start(t testing.TB, n int) (*fleettest.Rig, *cluster) {
	t.Helper()
	testkit.FullNeeds(t, program)
	r := fleettest.Start(t, members(n), func(k *process.Keeper, failed func(error)) (*fleet.Fleet, error) {
		return Launch(Config{Keeper: k, Members: members(n), Multiplier: quick, Failed: failed})
	})
	return r, r.Fleet.Server("consul-1").(*member).cluster
}
