//go:build linux

package ensembles

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
)

// served makes a simulated world's members available, in real time, to programs on this machine, and returns the
// members' addresses. To the world, all these programs are one client. served calls add to add the members to the
// world.
func served(t *testing.T, members []sim.ProcessID, add func(*sim.World), f sim.Front) (addresses []string) {
	t.Helper()
	clock, err := realtime.NewHostClock()
	if err != nil {
		t.Fatal(err)
	}
	w := sim.New(1, sim.Options{Endless: true, Wall: clock.Begin().UnixNano()})
	add(w)
	const programs = "programs"
	w.AddClient(programs, 0, func(env sim.Env) { env.Sleep(sim.Forever) })
	loop := realtime.NewLoop(w, clock)
	front := realtime.NewFront(loop, straight{})
	wiring := &realtime.Wiring{Caller: f.Begin().Caller(programs), Serial: f.Serial(),
		Admits: func(_, _ netip.AddrPort) bool { return true }}
	for _, m := range members {
		at, err := front.Listen("127.0.0.1", programs, m, wiring)
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, at.String())
	}
	over, stop := make(chan struct{}), false
	go func() {
		defer close(over)
		loop.Run(sim.Time(sim.Forever), func() bool { return stop })
	}()
	t.Cleanup(func() {
		loop.Do(func() { stop = true })
		<-over
		front.Close()
		clock.Close()
		if err := errors.Join(loop.Err(), w.Err()); err != nil {
			t.Error(err)
		}
	})
	return addresses
}

// straight is a handler that passes data on to the world unchanged.
type straight struct{}

func (straight) Asked(*realtime.Conn, []string)                 {}
func (straight) Forwarded(*realtime.Conn, []string)             {}
func (straight) Declined(*realtime.Conn, error)                 {}
func (straight) Malformed(*realtime.Conn, []byte)               {}
func (straight) Received(*realtime.Conn, []byte, *sim.Incoming) {}

// Ended ends the real connection in the same way as the simulated one.
func (straight) Ended(c *realtime.Conn, s sim.Status) {
	if s == sim.NoReply {
		c.Close()
		return
	}
	c.Reset()
}
