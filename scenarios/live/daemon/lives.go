package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/relay"
	"github.com/fencepost-sim/fencepost/sim"
)

// Lives are the lives that a server has in a simulated world, one after the other. Their methods are the world's
// goroutine's, unless they say otherwise.
type Lives struct {
	Daemon *Daemon     // nil: its process is not ours
	Port   *relay.Port // where other servers reach it; nil: none do
	Gate   *relay.Gate // to the world's goroutine
	Failed func(error) // is told why the run cannot go on

	failed sync.Once
	ended  chan struct{} // closed once the last life's process has ended; nil before the first life has
}

// Life is one of them. It begins before its process does, and ends before that has ended.
type Life struct {
	Context context.Context // ends with the life
	end     context.CancelFunc
	lives   *Lives
	before  <-chan struct{} // closed once the process of the life before has ended; nil: there was none
	booted  chan struct{}   // closed when its process has been started, or will not be
	ended   chan struct{}   // closed once its process has ended
}

// ErrOver reports that a life is over, and what its process still says is of no interest.
var ErrOver = errors.New("the server's life is over")

// Begin begins a life.
func (l *Lives) Begin(h sim.Host) *Life {
	x := &Life{lives: l, before: l.ended, booted: make(chan struct{}), ended: make(chan struct{})}
	x.Context, x.end = context.WithCancel(context.Background())
	l.ended = x.ended
	l.Port.Up(h, x.booted)
	return x
}

// Boot starts the process once that of the life before has ended. In the first life it runs already. It is for a
// goroutine of the life's own, once; if the life is over before, it is [ErrOver].
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

// IsOver reports whether the life has ended, on any goroutine.
func (x *Life) IsOver() bool { return x.Context.Err() != nil }

// End ends the life. Its process is another matter: see Stop.
func (x *Life) End() { x.end() }

// Stop ends the life and its process: at once, unless that is to shut down, which end sees to. That is called on a
// goroutine of its own, and does to the server's files what the end has done to its machine.
func (x *Life) Stop(how sim.Stop, end func() error) {
	x.End()
	l := x.lives
	if how != sim.ShutDown {
		l.Port.Off()
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

// Do has f done on the world's goroutine, unless the life is over then. What the process has sent to other servers
// before leaves before. It may be called on any goroutine.
func (x *Life) Do(f func()) {
	x.lives.Gate.Do(func() {
		if !x.IsOver() {
			x.lives.Port.Drain()
			f()
		}
	})
}

// Watch tells of a process that ends by itself, and returns when the life is over. It is for a goroutine of its own.
func (x *Life) Watch() {
	select {
	case <-x.lives.process():
		x.Fail(x.lives.Daemon.Died())
	case <-x.Context.Done():
	}
}

// process is closed once the process that was started last has ended.
func (l *Lives) process() <-chan struct{} {
	if l.Daemon == nil {
		return nil
	}
	return l.Daemon.Ended()
}

// Explain reports why a life cannot go on, if it is not over: that its process has ended explains every other error. It
// may be called on any goroutine.
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
func (l *Lives) Fail(err error) { l.failed.Do(func() { l.Failed(err) }) }

// Pause stops the process, as [sim.Pauser] says.
func (l *Lives) Pause() { l.hold(true) }

// Resume lets it go on.
func (l *Lives) Resume() { l.hold(false) }

func (l *Lives) hold(on bool) {
	if err := l.Daemon.hold(on); err != nil {
		l.Fail(fmt.Errorf("pausing %s: %w", l.Daemon.Name, err))
	}
}
