package servers

import (
	"errors"
	"os"

	"github.com/fencepost-sim/fencepost/sim/live"
	"github.com/fencepost-sim/fencepost/sim/live/keeper"
)

// Kept has a keeper start the clients, so that none outlives the run, however that ends.
type Kept struct{ Keeper *keeper.Keeper }

// Start starts a process.
func (k Kept) Start(c live.Command) (live.Process, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	p, err := k.Keeper.Start(keeper.Command{Path: c.Path, Args: c.Args, Env: append(os.Environ(), c.Env...), Dir: here,
		Output: c.Output})
	if err != nil {
		return nil, err
	}
	return kept{p}, nil
}

type kept struct{ *keeper.Process }

// Stop stops the group: one that has ended stands still.
func (p kept) Stop() error { return unlessEnded(p.Process.Stop()) }

// Cont lets the group go on.
func (p kept) Cont() error { return unlessEnded(p.Process.Cont()) }

// Kill ends the group.
func (p kept) Kill() error { return unlessEnded(p.Process.Kill()) }

func unlessEnded(err error) error {
	if errors.Is(err, keeper.ErrEnded) {
		return nil
	}
	return err
}
