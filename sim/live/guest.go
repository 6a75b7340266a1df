package live

import (
	"fmt"

	"github.com/fencepost-sim/fencepost/sim"
)

// Guest carries out, on a process of the host, what happens to the client that it is. It is a [sim.Outside], but for
// its clocks, which are the host's.
type Guest struct {
	Client  sim.ProcessID
	Process Process // that was started for it
	front   *Front
}

// NewGuest makes the guest of a client that connects by way of a front.
func NewGuest(f *Front, client sim.ProcessID, p Process) *Guest { return &Guest{client, p, f} }

// Paused stops the process. What it has sent by then counts as sent at this moment.
func (g *Guest) Paused() {
	g.try("be stopped", g.Process.Stop())
	g.front.Drain(g.Client)
}

// Resumed lets the process go on.
func (g *Guest) Resumed() { g.try("go on", g.Process.Cont()) }

// Crashed kills the process. What it has sent by then arrives.
func (g *Guest) Crashed() {
	g.try("be stopped", g.Process.Stop())
	g.front.Drop(g.Client)
	g.try("be killed", g.Process.Kill())
}

func (g *Guest) try(what string, err error) {
	if err != nil {
		g.front.loop.Fail(fmt.Errorf("%s could not %s: %w", g.Client, what, err))
	}
}
