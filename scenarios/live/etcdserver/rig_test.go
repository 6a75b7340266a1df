//go:build linux

package etcdserver

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
)

func TestMain(m *testing.M) {
	process.Main()
	os.Exit(m.Run())
}

// rig is a real-time world with real members.
type rig struct {
	t      testing.TB
	keeper *process.Keeper
	fleet  *cluster
	loop   *realtime.Loop
	world  *sim.World
	clock  *realtime.HostClock
	fails  bool // whether the test makes the run fail

	mu     sync.Mutex
	failed error
}

func members(n int) (names []sim.ProcessID) {
	for i := range n {
		names = append(names, sim.ProcessID(fmt.Sprintf("etcd-%d", i+1)))
	}
	return names
}

func start(t testing.TB, n int) *rig {
	t.Helper()
	testkit.Needs(t, program)
	r := &rig{t: t, keeper: newKeeper(t), world: sim.New(1, sim.Options{Endless: true})}
	f, err := Launch(Config{Keeper: r.keeper, Members: members(n), Failed: r.fail})
	if err != nil {
		t.Fatal(err)
	}
	r.fleet = f.Server("etcd-1").(*member).cluster
	if r.clock, err = realtime.NewHostClock(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.fleet.End()
		r.clock.Close()
		if err := r.error(); err != nil && !r.fails {
			t.Error(err)
		}
	})
	r.loop = realtime.NewLoop(r.world, r.clock)
	for _, name := range members(n) {
		r.world.AddServer(name, r.fleet.Server(name))
	}
	return r
}

func newKeeper(t testing.TB) *process.Keeper {
	t.Helper()
	k, err := process.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

func (r *rig) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
}

func (r *rig) error() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// run runs the world until its clients have finished.
func (r *rig) run(clients ...func(sim.Env)) *history.History {
	r.t.Helper()
	done := runClients(r.world, clients)
	r.fleet.Begin(r.loop)
	limited := r.loop.Run(sim.Time(2*time.Minute), func() bool { return *done == len(clients) || r.error() != nil })
	if limited {
		r.t.Fatal("the run is not over after two minutes")
	}
	if err := r.world.Err(); err != nil {
		r.t.Fatal(err)
	}
	return r.world.Finish()
}

// runClients adds clients to a world, and counts those that have finished.
func runClients(w *sim.World, clients []func(sim.Env)) *int {
	done := new(int)
	for i, f := range clients {
		w.AddClient(sim.ProcessID(fmt.Sprintf("client-%d", i+1)), 0, func(env sim.Env) {
			f(env)
			*done++
		})
	}
	return done
}
