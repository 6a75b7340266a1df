package matrixtest

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/bubble"
)

// Dial is a function that opens a connection to an address.
type Dial = func(ctx context.Context, address string) (net.Conn, error)

// LogSimulationCost logs the processor time that the same work takes when the client is connected to simulated members,
// and when it is connected to a server that answers immediately. The difference is the cost of the simulation. work
// does the work and returns how long it took.
func LogSimulationCost(t *testing.T, members []sim.ProcessID, add func(*sim.World), f sim.Front,
	work func(Dial, []string) time.Duration, echo func() net.Conn) {
	t.Helper()
	var simulated, echoed time.Duration
	synctest.Test(t, func(t *testing.T) {
		d, stacks := bubble.NewDriver(), new(sim.Stacks)
		w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: 500 * time.Microsecond, Hi: 2 * time.Millisecond},
			Stacks: stacks, Wall: d.Wall()})
		add(w)
		d.Begin(w, members, f)
		g := d.Guest("client-1")
		w.AddClient("client-1", 0, func(env sim.Env) {
			g.Call(env, "work", func(context.Context) {
				simulated = work(func(ctx context.Context, address string) (net.Conn, error) {
					return g.DialContext(ctx, "tcp", address)
				}, d.Addrs())
			})
		})
		if limited := d.Run(sim.Time(time.Hour), func() bool { return !w.Busy() }); limited || w.Err() != nil {
			t.Error(limited, w.Err())
		}
		if err := d.End(); err != nil {
			t.Error(err)
		}
		w.Finish()
		stacks.Close()
		d.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		echoed = work(func(context.Context, string) (net.Conn, error) { return echo(), nil }, []string{"127.0.0.1:1"})
	})
	t.Logf("%v with simulated members, %v with an echo server: %.1f times as long", simulated, echoed,
		float64(simulated)/float64(echoed))
}
