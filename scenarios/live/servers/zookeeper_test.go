//go:build linux

package servers

import (
	"context"
	"os"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/live/agree"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// TestARealEnsembleGivesTheSimulatedVerdicts checks that each of the catalog's ZooKeeper scenarios has the same verdict
// and the same causes on a real ensemble as on a simulated one.
func TestARealEnsembleGivesTheSimulatedVerdicts(t *testing.T) {
	testkit.FullOnly(t)
	var names []string
	for _, name := range scenarios.Names() {
		if s, err := scenarios.Named(name); err == nil && s.Servers.Backend == locks.OnZooKeeper {
			names = append(names, name)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	real := func(ctx context.Context, s *scenarios.Scenario) (*live.Result, error) {
		return choice(t, zooKeeper).Run(live.Options{Scenario: s, Host: "127.0.0.1", Context: ctx,
			Patience: live.Patience, Own: process.Command{Path: self, Args: []string{"own"}}}, s.Plan(1))
	}
	rows := 0
	err = agree.Run(context.Background(), campaign.Crew{Workers: 2}, names, real, func(r agree.Row) {
		rows++
		t.Log(r.Name)
		if !r.Agrees() {
			t.Errorf("%s: %v %s%s", r.Name, r.Differences(), r.Refused, r.Failed)
		}
	})
	switch {
	case err != nil:
		t.Error(err)
	case rows != len(names):
		t.Errorf("%d rows of %d", rows, len(names))
	}
}
