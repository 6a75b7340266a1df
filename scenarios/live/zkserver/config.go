package zkserver

import (
	"errors"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// Config configures a run's ensemble.
type Config struct {
	Keeper *process.Keeper
	// Members are the names of the servers. The first one is the leader when the run begins.
	Members []sim.ProcessID
	// TickTime and SyncLimit mean the same as for the simulated ensemble. The defaults are 2 s and 5 ticks.
	TickTime  time.Duration
	SyncLimit int
	// Failed is called when a server has failed on its own, which means that the run cannot be judged. It may be called
	// from any goroutine.
	Failed func(error)
}

func (c *Config) isMember(p sim.ProcessID) bool { return slices.Contains(c.Members, p) }

// Can returns an error that says why a fault cannot be injected into the members. It returns nil if the fault can be
// injected or does not affect the members. Can checks what is installed on this machine, but does not start anything.
func (c *Config) Can(f nemesis.Fault) error {
	if err := fleet.CanCount(f, c.isMember); err != nil {
		return err
	}
	if !c.isMember(f.Target) {
		return nil
	}
	if f.Kind == nemesis.Drift {
		return errors.New("the clocks of a real ZooKeeper cannot be made to drift: " +
			"it is a Java program that measures its waits with the kernel's clocks, " +
			"whose rate cannot be changed for a single program. Let a wall clock jump instead")
	}
	if c.needsShim(f) {
		return process.CanShim()
	}
	return nil
}

// needsShim reports whether injecting a fault requires the preloaded library that changes a process's clock.
func (c *Config) needsShim(f nemesis.Fault) bool {
	return c.isMember(f.Target) && f.Kind == nemesis.Jump
}
