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

// lockServers are real servers, which are launched when the first is requested: the run has checked by then whether
// they can suffer the plan.
type lockServers struct {
	plan   []nemesis.Fault
	can    func(nemesis.Fault) error
	launch func() (*fleet.Fleet, error)
	end    func() error // nil: nothing is left over
	front  sim.Front    // nil: that of simulated ones

	launched bool
	real     *fleet.Fleet
	err      error // of the launch

	mu   sync.Mutex
	loop *host.Loop
	died error // before there was a loop
}

// Can is that of the servers.
func (f *lockServers) Can(fault *nemesis.Fault) error { return f.can(*fault) }

// Front is the servers' own, if they have one.
func (f *lockServers) Front(own sim.Front) sim.Front {
	if f.front != nil {
		return f.front
	}
	return own
}

// Server returns a real one.
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

// Begin gives the servers the loop.
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

// End ends what the servers do for the run.
func (f *lockServers) End() error {
	if f.real != nil {
		f.real.End()
	}
	if f.end == nil || f.err != nil {
		return nil
	}
	return f.end()
}

// failed ends the run, which decides nothing.
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
