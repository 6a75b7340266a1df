//go:build linux

package etcdserver

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

// rig is a real-time world with real members.
type rig struct {
	*fleettest.Rig
	cluster *cluster
}

func members(n int) (names []sim.ProcessID) { return fleettest.Names("etcd", n) }

func start(t testing.TB, n int) *rig {
	t.Helper()
	testkit.Needs(t, program)
	r := fleettest.Start(t, members(n), func(k *process.Keeper, failed func(error)) (*fleet.Fleet, error) {
		return Launch(Config{Keeper: k, Members: members(n), Failed: failed})
	})
	return &rig{r, r.Fleet.Server("etcd-1").(*member).cluster}
}
