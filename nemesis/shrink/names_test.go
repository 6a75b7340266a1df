package shrink

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/sim"
)

// testNames are processes of many kinds: three Redis nodes without replicas, one with two replicas, and an etcd
// cluster.
var testNames = nemesis.Names{
	Clients:   []sim.ProcessID{"client-1", "client-2", "client-3"},
	Redis:     []sim.ProcessID{"redis-1", "redis-1-replica-1", "redis-1-replica-2", "redis-2", "redis-3", "redis-4"},
	Consensus: []sim.ProcessID{"etcd-1", "etcd-2", "etcd-3"},
	Sessions:  true,
	Groups:    [][]sim.ProcessID{{"redis-1", "redis-1-replica-1", "redis-1-replica-2"}},
	Resource:  "resource",
	Locks:     []history.Lock{"lock", "orders:1/a"},
}

func newGenerator(t *testing.T, change func(*draw.Mix)) *draw.Generator {
	t.Helper()
	m := draw.Default()
	if change != nil {
		change(&m)
	}
	g, err := draw.NewGenerator(m, testNames, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func mustParse(t *testing.T, line string) nemesis.Fault {
	t.Helper()
	f, err := nemesis.Parse(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return f
}
