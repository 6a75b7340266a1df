package servers

import (
	"errors"
	"sync"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	host "github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
)

// lockServers is a set of real servers. They are launched when the first of them is requested. Before that, the run
// checks whether the plan's faults can be injected into them.
type lockServers struct {
	plan   []nemesis.Fault
	can    func(nemesis.Fault) error
	launch func() (*fleet.Fleet, error)
	end    func() error // cleans up at the end; nil: there is nothing to clean up
	front  sim.Front    // nil: use the front end of the simulated servers

	launched bool
	real     *fleet.Fleet
	err      error // the error of the launch

	mu   sync.Mutex
	loop *host.Loop
	died error // a failure that occurred before there was a loop
}

// Can returns nil if a fault can be injected into the servers, and otherwise an error that says why it cannot.
func (f *lockServers) Can(fault *nemesis.Fault) error { return f.can(*fault) }

// Front returns the real servers' own front end, or the simulated one (own) if they have none.
func (f *lockServers) Front(own sim.Front) sim.Front {
	if f.front != nil {
		return f.front
	}
	return own
}

// Server returns the real server with this name, or the simulated one (own) if there is none.
func (f *lockServers) Server(id sim.ProcessID, own sim.Server) sim.Server {
	if !f.launched {
		f.launched = true
		if f.real, f.err = f.launch(); f.err != nil {
			f.real = nil
		}
	}
	if f.err == nil {
		if s := f.real.Server(id); s != nil {
			return s
		}
	}
	return own
}

// Begin connects the servers to the loop.
func (f *lockServers) Begin(l *host.Loop) error {
	f.mu.Lock()
	f.loop = l
	err := errors.Join(f.err, f.died)
	f.mu.Unlock()
	if err == nil {
		f.real.Begin(l)
	}
	return err
}

// End detaches the servers from the run.
func (f *lockServers) End() error {
	if f.real != nil {
		f.real.End()
	}
	if f.end == nil || f.err != nil {
		return nil
	}
	return f.end()
}

// failed ends the run because a server has failed. The run's result is then undecided.
func (f *lockServers) failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err = &live.UndecidedError{Err: err}
	if f.loop == nil {
		f.died = err
		return
	}
	f.loop.Fail(err)
}

// promoted records a failover.
func (f *lockServers) promoted(old, promoted sim.ProcessID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	scenarios.RecordFailOver(f.loop.World(), f.plan, old, promoted)
}
