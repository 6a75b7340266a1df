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

// Lives are the successive lives of a server in a simulated world, and what servers of every kind do alike, as
// [sim.Server]. Their methods are for the world's goroutine, unless they say otherwise.
type Lives struct {
	Daemon *process.Daemon // nil: the server's process is not ours
	Port   *Port           // at which other servers reach it; nil: none do
	Host   sim.Host        // since the first life

	fleet  *Fleet
	failed sync.Once
	end    context.CancelFunc // of the latest life
	ended  chan struct{}      // closed once the last life's process has ended; nil before the first life has
}

// Life is one of them. It starts before its process does, and ends before that has ended.
type Life struct {
	Context context.Context // ends with the life
	lives   *Lives
	before  <-chan struct{} // closed once the process of the life before has ended; nil: there was none
	booted  chan struct{}   // closed when its process has been started, or will not be
	ended   chan struct{}   // closed once its process has ended
}

// ErrOver reports that a life is over, so that the output of its process no longer matters.
var ErrOver = errors.New("the server's life is over")

// Begin starts a life.
func (l *Lives) Begin(h sim.Host) *Life {
	x := &Life{lives: l, before: l.ended, booted: make(chan struct{}), ended: make(chan struct{})}
	x.Context, l.end = context.WithCancel(context.Background())
	l.ended, l.Host = x.ended, h
	l.Port.up(h, x.booted)
	return x
}

// Boot starts the process once that of the life before has ended. In the first life it runs already. It is for a
// goroutine of the life's own, once; if the life ends before that, it returns [ErrOver].
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

// Stop ends the life and its process: at once, except for a shut-down, which is left to end. end is called on a
// goroutine of its own, and applies to the server's files what the stop has done to its machine.
func (x *Life) Stop(how sim.Stop, end func() error) {
	l := x.lives
	l.end()
	if how != sim.ShutDown {
		l.Port.off()
		l.Daemon.Kill()
	}
	go func() {
		defer close(x.ended)
		<-x.booted // so the process that is ended is this life's
		if err := end(); err != nil {
			l.Fail(fmt.Errorf("ending %s: %w", l.Daemon.Name, err))
		}
	}()
}

// Do runs f on the world's goroutine, unless the life is over then. What the process sent to other servers before that
// leaves first. It may be called on any goroutine.
func (x *Life) Do(f func()) {
	x.lives.fleet.Do(func() {
		if !x.IsOver() {
			x.lives.Port.drain()
			f()
		}
	})
}

// Watch reports a process that ends by itself, and returns when the life is over. It is for a goroutine of its own.
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

// Explain reports why a life cannot go on, if it is not over: the end of its process explains every other error. It may
// be called on any goroutine.
func (x *Life) Explain(err error) {
	const soon = 3 * time.Second // after that the process runs
	select {
	case <-x.lives.process():
		err = x.lives.Daemon.Died()
	case <-x.Context.Done():
	case <-time.After(soon):
	}
	x.Fail(err)
}

// Fail reports why a life cannot go on, if it is not over. It may be called on any goroutine.
func (x *Life) Fail(err error) {
	if !x.IsOver() {
		x.lives.Fail(err)
	}
}

// Fail reports, once, why the run cannot go on. It may be called on any goroutine.
func (l *Lives) Fail(err error) { l.failed.Do(func() { l.fleet.Failed(err) }) }

// Receive receives what another server has sent.
func (l *Lives) Receive(_ sim.ProcessID, body any) { body.(*chunk).arrive() }

// Wake does nothing: a server that sets timers has its own.
func (l *Lives) Wake(uint64) {}

// Fault does nothing: a server that can suffer one has its own.
func (l *Lives) Fault(sim.ServerFault) {}

// ClockChanged sets the process's clocks to the world's.
func (l *Lives) ClockChanged() {
	if l.Daemon == nil {
		return // they are the user's, and no fault strikes them
	}
	if err := l.Daemon.Shim.SetClocks(l.Host); err != nil {
		l.Fail(fmt.Errorf("setting the clocks of %s: %w", l.Daemon.Name, err))
	}
}

// Pause stops the process, as [sim.Pauser] says.
func (l *Lives) Pause() { l.hold(true) }

// Resume continues it.
func (l *Lives) Resume() { l.hold(false) }

func (l *Lives) hold(on bool) {
	if err := l.Daemon.Hold(on); err != nil {
		l.Fail(fmt.Errorf("pausing %s: %w", l.Daemon.Name, err))
	}
}
