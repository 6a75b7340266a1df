package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// What etcd and Consul have in common: they are Go programs, whose members replicate one log and accept clients on a
// socket in their folder.

// Patience is the maximum time for members to start, elect a leader or end. They normally need only a fraction of it.
const Patience = 30 * time.Second

// retryDelay is the delay before repeating a request that a member could not answer.
const retryDelay = 5 * time.Millisecond

// CanMember returns an error if a fault cannot be injected into a cluster whose members are the given servers, or nil
// if it can. Each member is a process of a Go program; program is its name for the error message.
func CanMember(f nemesis.Fault, members []sim.ProcessID, program string) error {
	isMember := func(p sim.ProcessID) bool { return slices.Contains(members, p) }
	if err := CanCount(f, isMember); err != nil {
		return err
	}
	switch at := f.Target; {
	case !isMember(at):
	case f.Kind.Does().IsClock():
		return fmt.Errorf("the clocks of %s cannot be changed: "+
			"%s is a Go program, which reads the time directly from the kernel", at, program)
	case f.Kind.Has(nemesis.FieldLoss) && f.Loss == nemesis.LosesEverything:
		return fmt.Errorf("a real member that has lost its data cannot rejoin: "+
			"let %s lose its unsynced writes instead", at)
	}
	return nil
}

// Dial returns a function that connects to the member whose name is the host of the given address. The members listen
// on a socket with the given name in their folder, where no other user can reach it.
func (f *Fleet) Dial(socket string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		name, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(f.Keeper.Folder(), name, socket))
	}
}

// Open waits until the server's first process is listening on an address. From then on, other servers reach it through
// the port.
func (l *Lives) Open(at netip.AddrPort) error {
	err := l.Daemon.Await(func() bool { return listens(l.Daemon.PID(), at) }, "does not listen", Patience, retryDelay,
		nil)
	if err == nil {
		l.Port.Open(at.String())
	}
	return err
}

// Settle calls settled until it returns nil. It returns an error if a server's process has ended, or a
// [process.LateError] after Patience.
func (f *Fleet) Settle(settled func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for {
		err := settled(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return &process.LateError{Err: fmt.Errorf("the members did not agree on a leader within %v: %w%s", Patience,
				err, f.lives[0].Daemon.LastWords())}
		}
		for _, l := range f.lives {
			select {
			case <-l.Daemon.Ended():
				return l.Daemon.Died()
			default:
			}
		}
		wait(ctx)
	}
}

// wait waits for retryDelay, or until ctx is done.
func wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(retryDelay):
	}
}

// Insist calls try until it returns nil. It returns [ErrOver] if the life ends first.
func (x *Life) Insist(try func() error) error {
	for !x.IsOver() {
		if try() == nil {
			return nil
		}
		wait(x.Context)
	}
	return ErrOver
}

// Accept calls try until it returns nil, which means that the process accepts requests. From then on, [Life.Accepts]
// returns true. Accept returns false if the life ends first.
func (x *Life) Accept(try func() error) bool {
	if errors.Is(x.Insist(try), ErrOver) {
		return false
	}
	close(x.accepts)
	return true
}

// Accepts waits until the process accepts requests. It returns false if the life ends or ctx is done before then.
func (x *Life) Accepts(ctx context.Context) bool {
	select {
	case <-x.accepts:
		return true
	case <-ctx.Done():
		return false
	}
}
