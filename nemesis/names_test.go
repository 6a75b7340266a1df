package nemesis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// testNames are processes of many kinds: three Redis nodes without replicas, one with two replicas, and an etcd
// cluster.
var testNames = Names{
	Clients:   []sim.ProcessID{"client-1", "client-2", "client-3"},
	Redis:     []sim.ProcessID{"redis-1", "redis-1-replica-1", "redis-1-replica-2", "redis-2", "redis-3", "redis-4"},
	Consensus: []sim.ProcessID{"etcd-1", "etcd-2", "etcd-3"},
	Sessions:  true,
	Groups:    [][]sim.ProcessID{{"redis-1", "redis-1-replica-1", "redis-1-replica-2"}},
	Resource:  "resource",
	Locks:     []history.Lock{"lock", "orders:1/a"},
}

// TestNoFaultReachesTheClocksOfAGuest checks that guests, whose code does not run as a task in the simulation, are
// spared jumps and drifts: such a fault cannot be drawn for a guest, and a line that contains one is refused. A guest
// can be paused, and jumps and drifts can affect servers and modeled clients.
func TestNoFaultReachesTheClocksOfAGuest(t *testing.T) {
	n := testNames
	n.Guests = true
	targets := TargetsOf(&n)
	for _, p := range targets.Processes {
		if got, want := slices.Contains(targets.Clocked, p), !slices.Contains(n.Clients, p); got != want {
			t.Errorf("a fault reaches the clocks of %s: %v", p, got)
		}
	}
	for _, line := range []string{"jump %s clock by +5s at 1s", "drift %s clock by +1000ppm from 1s"} {
		if _, err := ParseFor(fmt.Sprintf(line, "client-1"), n); err == nil ||
			!strings.Contains(err.Error(), "can neither jump nor drift") {
			t.Errorf("%s of a guest: %v", line, err)
		}
		if _, err := ParseFor(fmt.Sprintf(line, "redis-1"), n); err != nil {
			t.Errorf("%s of a server: %v", line, err)
		}
		if _, err := ParseFor(fmt.Sprintf(line, "client-1"), testNames); err != nil {
			t.Errorf("%s of a modeled client: %v", line, err)
		}
	}
	if _, err := ParseFor("pause client-1 for 5s at 1s", n); err != nil {
		t.Error(err)
	}
}
