//go:build linux

package servers

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/live/agree"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// own returns a function that runs a scenario in real time, on servers of the given kind, with Fencepost's own clients.
func own(t testing.TB, word string) agree.Real {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, s *scenarios.Scenario) (*live.Result, error) {
		return choice(t, word).Run(live.Options{Scenario: s, Host: "127.0.0.1", Context: ctx,
			Patience: live.Patience, Own: process.Command{Path: self, Args: []string{"own"}}}, s.Plan(1))
	}
}

// TestARealEnsembleGivesTheSimulatedVerdicts checks that each of the catalog's ZooKeeper scenarios has the same verdict
// and the same causes on a real ensemble as on a simulated one.
func TestARealEnsembleGivesTheSimulatedVerdicts(t *testing.T) {
	testkit.FullOnly(t)
	verdictsAgree(t, zooKeeper, locks.OnZooKeeper)
}

// TestARealConsulGivesTheSimulatedVerdicts checks the same for the catalog's Consul scenarios.
func TestARealConsulGivesTheSimulatedVerdicts(t *testing.T) {
	testkit.FullOnly(t)
	verdictsAgree(t, consul, locks.OnConsul)
}

func verdictsAgree(t *testing.T, word string, backend locks.Backend) {
	var names []string
	for _, name := range scenarios.Names() {
		if s, err := scenarios.Named(name); err == nil && s.Servers.Backend == backend {
			names = append(names, name)
		}
	}
	rows := 0
	err := agree.Run(context.Background(), campaign.Crew{Workers: 2}, names, own(t, word), func(r agree.Row) {
		rows++
		t.Log(r.Name)
		if !r.Agrees() {
			t.Errorf("%s: %v %s%s", r.Name, r.Differences(), r.Refused, r.Failed)
		}
	})
	switch {
	case err != nil:
		t.Error(err)
	case rows != len(names) || rows == 0:
		t.Errorf("%d rows of %d", rows, len(names))
	}
}

// TestALockOnARealConsul checks that a lock of a real Consul cluster comes out as on the simulated one: without faults,
// when its holder is stopped until its session has ended, and when the leader is killed and comes back.
func TestALockOnARealConsul(t *testing.T) {
	testkit.ThoroughOnly(t)
	testkit.FullNeeds(t, "consul")
	for name, fault := range map[string]string{
		"no fault":        "",
		"paused holder":   "pause client-1 for 40s at before-write",
		"killed leader":   `"crash consul-1 losing unsynced writes after acquired by client-1, restart after 5s"`,
		"paused leader":   "pause consul-1 for 20s after acquired by client-1",
		"leader cut off":  "cut consul-1 | consul-2 consul-3 after acquired by client-1 for 20s",
		"expired session": "expire session of client-1 after acquired",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testkit.Undisturbed(t, func(t testing.TB) {
				runsAlike(t, consul, scenario(t, "servers: {consul: 3}\nclients: 2\n"+
					"lock: {protocol: consul, ttl: 10s, lock-delay: 5s}\n"+
					"work: {cycles: 2, writes: 1, hold: 2s, stagger: 200ms}\nfaults: ["+fault+"]\n"))
			})
		})
	}
}

// runsAlike checks that a scenario's verdict on real servers is that on simulated ones.
func runsAlike(t testing.TB, word string, s *scenarios.Scenario) {
	t.Helper()
	simulated, err := scenarios.NewRunner(s).Run(s.Plan(1))
	if err != nil {
		t.Fatal(err)
	}
	real, err := own(t, word)(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	r := agree.Row{Simulated: agree.Side{Verdict: checker.Check(simulated.History)},
		Live: agree.Side{Verdict: checker.Check(real.History)}}
	if !r.Agrees() {
		t.Errorf("they differ: %v", r.Differences())
	}
	if got, want := counted(real.History), counted(simulated.History); got != want {
		t.Errorf("%s, but simulated %s", got, want)
	}
}

// counted says how often the clients had the lock, and how often its key was acquired and released.
func counted(h *history.History) string {
	did := map[history.F]int{}
	for i := range h.Events {
		if e := &h.Events[i]; e.Type == history.OK && e.Process != history.Probe {
			did[e.F]++
		}
	}
	return fmt.Sprintf("%d sections, %d keys set, %d gone", did[history.Acquire], did[history.KeySet],
		did[history.KeyGone])
}
