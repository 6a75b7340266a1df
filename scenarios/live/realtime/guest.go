package realtime

import (
	"errors"
	"fmt"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// Guest carries out the faults of a client on its process of the host. It cannot change the process's clocks.
type Guest struct {
	Client  sim.ProcessID
	process *process.Process // process of the client
	front   *Front
}

// NewGuest returns the guest of a client that connects through a front.
func NewGuest(f *Front, client sim.ProcessID, p *process.Process) *Guest { return &Guest{client, p, f} }

// Pause stops the process. What it has sent until then counts as sent at this moment.
func (g *Guest) Pause() {
	g.try("be stopped", g.process.Stop())
	g.front.Drain(g.Client)
}

// Resume continues the process.
func (g *Guest) Resume() { g.try("go on", g.process.Cont()) }

// Kill kills the process. What it has sent until then is delivered. It reports whether the process lived until now.
func (g *Guest) Kill() (lived bool) {
	err := g.process.Stop()
	g.try("be stopped", err)
	g.front.drop(g.Client)
	g.try("be killed", g.process.Kill())
	return err == nil
}

func (g *Guest) try(what string, err error) {
	if err != nil && !errors.Is(err, process.ErrEnded) { // a process that has ended is stopped anyway
		g.front.loop.Fail(fmt.Errorf("%s could not %s: %w", g.Client, what, err))
	}
}
