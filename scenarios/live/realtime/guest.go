package realtime

import (
	"errors"
	"fmt"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// Program is a client's running program. Its methods return [process.ErrEnded] if the program has already ended on its
// own.
type Program interface {
	Stop() error // stops the program until Cont
	Cont() error
	Kill() error
}

// Guest applies a client's faults to the client's program. It cannot change the program's clocks.
type Guest struct {
	Client  sim.ProcessID
	program Program
	front   *Front
}

// NewGuest returns the Guest of a client that connects through a [Front].
func NewGuest(f *Front, client sim.ProcessID, p Program) *Guest { return &Guest{client, p, f} }

// Pause stops the process, and handles everything that it has sent so far.
func (g *Guest) Pause() {
	g.try("be stopped", g.program.Stop())
	g.front.Drain(g.Client)
}

// Resume continues the process.
func (g *Guest) Resume() { g.try("go on", g.program.Cont()) }

// Kill kills the process and reports whether it was still running. Everything that the process has sent so far is still
// delivered.
func (g *Guest) Kill() (lived bool) {
	err := g.program.Stop()
	g.try("be stopped", err)
	g.front.drop(g.Client)
	g.try("be killed", g.program.Kill())
	return err == nil
}

func (g *Guest) try(what string, err error) {
	if err != nil && !errors.Is(err, process.ErrEnded) { // a process that has ended need not be stopped
		g.front.loop.Fail(fmt.Errorf("%s could not %s: %w", g.Client, what, err))
	}
}
