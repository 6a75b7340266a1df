package servers

import (
	"errors"
	"fmt"
	"os"

	"github.com/fencepost-sim/fencepost/sim/live"
	"github.com/fencepost-sim/fencepost/sim/live/keeper"
)

// kept has a keeper start the clients, so that none outlives the run, however that ends.
type kept struct{ *keeper.Keeper }

// Start starts a process.
func (k kept) Start(c live.Command) (live.Process, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	p, err := k.Keeper.Start(keeper.Command{Path: c.Path, Args: c.Args, Env: append(os.Environ(), c.Env...), Dir: here,
		Output: c.Output})
	if err != nil {
		return nil, err
	}
	return group{p}, nil
}

// group is a process with all that is in its process group.
type group struct{ *keeper.Process }

// Wait waits for the end, and says how it was as package os does.
func (p group) Wait() error {
	s := p.Status()
	err := p.Process.Wait()
	switch {
	case err == nil || s.Err != nil:
		return err
	case s.Signal != 0:
		return fmt.Errorf("signal: %v", s.Signal)
	}
	return fmt.Errorf("exit status %d", s.Code)
}

// Stop stops the group: one that has ended stands still.
func (p group) Stop() error { return unlessEnded(p.Process.Stop()) }

// Cont lets the group go on.
func (p group) Cont() error { return unlessEnded(p.Process.Cont()) }

// Kill ends the group.
func (p group) Kill() error { return unlessEnded(p.Process.Kill()) }

func unlessEnded(err error) error {
	if errors.Is(err, keeper.ErrEnded) {
		return nil
	}
	return err
}
