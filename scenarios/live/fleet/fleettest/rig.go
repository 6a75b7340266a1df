// Package fleettest runs real servers in a world without scenarios, and the simulated ones in their place, for the
// tests of the packages that start real servers.
package fleettest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
)

// Rig is a real-time world with real servers.
type Rig struct {
	T      testing.TB
	Keeper *process.Keeper
	Fleet  *fleet.Fleet
	Loop   *realtime.Loop
	World  *sim.World
	Fails  bool // whether the test makes the run fail

	mu     sync.Mutex
	failed error
}

// Names returns the names of n servers, such as etcd-1.
func Names(backend string, n int) (names []sim.ProcessID) {
	for i := range n {
		names = append(names, sim.ProcessID(fmt.Sprintf("%s-%d", backend, i+1)))
	}
	return names
}

// Start launches servers with the given names.
func Start(t testing.TB, names []sim.ProcessID,
	launch func(k *process.Keeper, failed func(error)) (*fleet.Fleet, error)) *Rig {
	t.Helper()
	r := &Rig{T: t, Keeper: Keeper(t), World: sim.New(1, sim.Options{Endless: true})}
	var err error
	if r.Fleet, err = launch(r.Keeper, r.fail); err != nil {
		t.Fatal(err)
	}
	clock, err := realtime.NewHostClock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Fleet.End()
		clock.Close()
		if err := r.Err(); err != nil && !r.Fails {
			t.Error(err)
		}
	})
	r.Loop = realtime.NewLoop(r.World, clock)
	for _, name := range names {
		r.World.AddServer(name, r.Fleet.Server(name))
	}
	return r
}

// Keeper starts a keeper, which ends with the test.
func Keeper(t testing.TB) *process.Keeper {
	t.Helper()
	k, err := process.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

func (r *Rig) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
}

// Err returns the error with which the servers have failed, or nil.
func (r *Rig) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Run runs the world until its clients have finished.
func (r *Rig) Run(clients ...func(sim.Env)) *history.History {
	r.T.Helper()
	done := addClients(r.World, clients)
	r.Fleet.Begin(r.Loop)
	limited := r.Loop.Run(sim.Time(2*time.Minute), func() bool { return *done == len(clients) || r.Err() != nil })
	if limited {
		r.T.Fatal("the run is not over after two minutes")
	}
	if err := r.World.Err(); err != nil {
		r.T.Fatal(err)
	}
	return r.World.Finish()
}

// Simulated runs clients with simulated servers, which add adds to their world.
func Simulated(t testing.TB, add func(w *sim.World), clients func(w *sim.World) func(sim.Env)) *history.History {
	t.Helper()
	w := sim.New(1, sim.Options{Endless: true})
	add(w)
	done := addClients(w, []func(sim.Env){clients(w)})
	w.Run(sim.Time(time.Hour), func() bool { return *done == 1 })
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	return w.Finish()
}

// addClients adds clients to a world, and counts those that have finished.
func addClients(w *sim.World, clients []func(sim.Env)) *int {
	done := new(int)
	for i, f := range clients {
		w.AddClient(sim.ProcessID(fmt.Sprintf("client-%d", i+1)), 0, func(env sim.Env) {
			f(env)
			*done++
		})
	}
	return done
}

// RecordsOf returns the events in a history in which keys appeared or disappeared, with the keys' owners.
func RecordsOf(h *history.History) (list []string) {
	for i := range h.Events {
		if e := &h.Events[i]; e.F == history.KeySet || e.F == history.KeyGone {
			list = append(list, fmt.Sprint(e.F, " ", e.Lock, " ", e.Member, " of ", e.Of))
		}
	}
	return list
}

// SameLists checks that a list from real servers equals that from simulated ones.
func SameLists(t testing.TB, what string, real, simulated []string) {
	t.Helper()
	if slices.Equal(real, simulated) {
		return
	}
	for i := range max(len(real), len(simulated)) {
		if i >= len(real) || i >= len(simulated) || real[i] != simulated[i] {
			t.Fatalf("%s differ at %d:\nreal\n%q\nsimulated\n%q", what, i, real[min(i, len(real)):min(i+2, len(real))],
				simulated[min(i, len(simulated)):min(i+2, len(simulated))])
		}
	}
}
