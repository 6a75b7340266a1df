package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// Lives represents the successive processes of a server in a simulated world. It implements the parts of [sim.Server]
// that are the same for all types of servers. Its methods must be called on the world's goroutine, unless they say
// otherwise.
type Lives struct {
	Daemon *process.Daemon // nil: the user has started the server's process
	Port   *Port           // where other servers reach it; nil: it has no port
	Host   sim.Host        // set once the first life has begun

	fleet  *Fleet
	failed sync.Once
	end    context.CancelFunc // ends the latest life
	ended  chan struct{}      // closed once the last life's process has ended; nil before the first life
}

// Life is the period between a server's start and its next stop. It begins just before the server's process is started.
// It ends when the stop begins, so the process may exit a little later.
type Life struct {
	Context context.Context // done when the life has ended
	lives   *Lives
	before  <-chan struct{} // closed once the previous life's process has ended; nil: there was no previous life
	booted  chan struct{}   // closed once the process has been started, or certainly will not be
	accepts chan struct{}   // closed once the process accepts requests, if Accept is used
	ended   chan struct{}   // closed once the process has ended
}

// ErrOver reports that a life has ended, so what its process does no longer matters.
var ErrOver = errors.New("the server's process has ended")

// Begin starts a new life for the server.
func (l *Lives) Begin(h sim.Host) *Life {
	x := &Life{lives: l, before: l.ended, booted: make(chan struct{}), accepts: make(chan struct{}),
		ended: make(chan struct{})}
	x.Context, l.end = context.WithCancel(context.Background())
	l.ended, l.Host = x.ended, h
	l.Port.started(h, x.booted)
	return x
}

// Boot waits until the previous life's process has ended, and then calls start. In the first life the process is
// already running. Boot must be called once, in its own goroutine. If this life ends first, Boot returns [ErrOver].
func (x *Life) Boot(start func() error) error {
	defer close(x.booted)
	if x.before == nil {
		return nil
	}
	<-x.before
	if x.IsOver() {
		return ErrOver
	}
	return start()
}

// IsOver reports whether the life has ended. It may be called on any goroutine.
func (x *Life) IsOver() bool { return x.Context.Err() != nil }

// Stop ends the life and its process. After a shutdown the process may end on its own; otherwise Stop kills it. Once
// the process has started, Stop calls end on a new goroutine, to change the server's files as required by the kind of
// stop.
func (x *Life) Stop(how sim.Stop, end func() error) {
	l := x.lives
	l.end()
	if how != sim.ShutDown {
		l.Port.powerOff()
		l.Daemon.Kill()
	}
	go func() {
		defer close(x.ended)
		<-x.booted // the process that end handles must belong to this life
		if err := end(); err != nil {
			l.Fail(fmt.Errorf("ending %s: %w", l.Daemon.Name, err))
		}
	}()
}

// Do runs f on the world's goroutine, unless the life has ended by then. Everything that the process has already sent
// to other servers is first delivered to the links. Do may be called on any goroutine.
func (x *Life) Do(f func()) {
	x.lives.fleet.Do(func() {
		if !x.IsOver() {
			x.lives.Port.drain()
			f()
		}
	})
}

// Watch reports a failure if the process ends on its own. It returns when the life ends. It must run on its own
// goroutine.
func (x *Life) Watch() {
	select {
	case <-x.lives.process():
		x.Fail(x.lives.Daemon.Died())
	case <-x.Context.Done():
	}
}

// process returns a channel that is closed once the latest process has ended.
func (l *Lives) process() <-chan struct{} {
	if l.Daemon == nil {
		return nil
	}
	return l.Daemon.Ended()
}

// Explain makes the run fail because of err, unless the life has ended. If the process has ended, Explain reports that
// instead of err, because it explains every other error. Explain may be called on any goroutine.
func (x *Life) Explain(err error) {
	const soon = 3 * time.Second // if the process has not ended by then, it is alive
	select {
	case <-x.lives.process():
		err = x.lives.Daemon.Died()
	case <-x.Context.Done():
	case <-time.After(soon):
	}
	x.Fail(err)
}

// Fail makes the run fail because of err, unless the life has ended. It may be called on any goroutine.
func (x *Life) Fail(err error) {
	if !x.IsOver() {
		x.lives.Fail(err)
	}
}

// Fail makes the run fail because of err. Only the first call counts. It may be called on any goroutine.
func (l *Lives) Fail(err error) { l.failed.Do(func() { l.fleet.Failed(err) }) }

// Receive handles a chunk sent by another server.
func (l *Lives) Receive(_ sim.ProcessID, body any) { body.(*chunk).arrive() }

// Wake does nothing. Servers that set timers override it.
func (l *Lives) Wake(uint64) {}

// Fault does nothing. Servers that support this kind of fault override it.
func (l *Lives) Fault(sim.ServerFault) {}

// ClockChanged sets the process's clocks to those of the server in the world.
func (l *Lives) ClockChanged() {
	if l.Daemon == nil {
		return // no fault can change the clocks of a process started by the user
	}
	if err := l.Daemon.Shim.SetClocks(l.Host); err != nil {
		l.Fail(fmt.Errorf("setting the clocks of %s: %w", l.Daemon.Name, err))
	}
}

// Pause stops the process, as [sim.Pauser] requires.
func (l *Lives) Pause() { l.hold(true) }

// Resume continues the process.
func (l *Lives) Resume() { l.hold(false) }

func (l *Lives) hold(on bool) {
	if err := l.Daemon.Hold(on); err != nil {
		what := map[bool]string{true: "pausing", false: "resuming"}[on]
		l.Fail(fmt.Errorf("%s %s: %w", what, l.Daemon.Name, err))
	}
}
