package live

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Clock is the host's clock as a loop reads it.
type Clock interface {
	// Now is the time since the world's zero. It never goes back.
	Now() sim.Time
	// Wait returns when d has passed, or earlier once wake has an element, which it takes.
	Wait(d time.Duration, wake <-chan struct{})
}

// Loop lets the events of one world happen in real time. All that touches the world runs on the goroutine that calls
// Run.
type Loop struct {
	world *sim.World
	clock Clock
	wake  chan struct{} // has one element if something is posted
	late  Lateness

	mu     sync.Mutex
	posted []func()
	err    error
}

// NewLoop makes a loop for a world in which nothing has happened.
func NewLoop(w *sim.World, c Clock) *Loop {
	return &Loop{world: w, clock: c, wake: make(chan struct{}, 1)}
}

// World is the world that the loop drives. Only what runs on the loop may touch it.
func (l *Loop) World() *sim.World { return l.world }

// Do has f run on the loop, after the events that are due by then, at the world's present time. It may be called by any
// goroutine and does not wait. What is posted by one goroutine runs in its order. f runs at most once, and not at all
// if the loop has ended.
func (l *Loop) Do(f func()) {
	l.mu.Lock()
	l.posted = append(l.posted, f)
	l.mu.Unlock()
	l.rouse()
}

func (l *Loop) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Fail ends the run with an error; only the first counts. It may be called by any goroutine.
func (l *Loop) Fail(err error) {
	l.mu.Lock()
	if l.err == nil {
		l.err = err
	}
	l.mu.Unlock()
	l.rouse()
}

// Err is the first failure, or nil.
func (l *Loop) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Late tells how late the host let events happen.
func (l *Loop) Late() *Lateness { return &l.late }

// Run lets events and operations happen until done (if not nil) says so, something has failed, or the world's time
// comes to limit. It reports whether the limit ended it. That no event is left ends nothing: something may be posted.
func (l *Loop) Run(limit sim.Time, done func() bool) (limited bool) {
	for {
		l.turn(limit)
		at, ok := l.world.Next()
		now := l.world.Now()
		switch {
		case l.Err() != nil || l.world.Err() != nil || done != nil && done():
			return false
		case now >= limit:
			return true
		case !ok || at > limit:
			at = limit
		}
		if at > now {
			l.clock.Wait(at.Duration()-now.Duration(), l.wake)
		}
	}
}

// turn runs what is due and what is posted.
func (l *Loop) turn(limit sim.Time) {
	l.catchUp(limit)
	l.mu.Lock()
	posted := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, f := range posted {
		l.catchUp(limit)
		f()
	}
}

// catchUp runs what is due and advances the world to the host's time, but not beyond limit.
func (l *Loop) catchUp(limit sim.Time) {
	now := max(min(l.clock.Now(), limit), l.world.Now())
	for {
		at, ok := l.world.Next()
		if !ok || at > now {
			break
		}
		if at > l.world.Now() {
			l.late.add((now - at).Duration())
		}
		l.world.Step()
	}
	if l.world.Err() == nil {
		l.world.Advance(now)
	}
}

// HostClock is the host's monotonic clock.
type HostClock struct {
	begin time.Time
	timer *time.Timer
}

// NewHostClock makes a clock that counts from now.
func NewHostClock() *HostClock { return &HostClock{begin: time.Now(), timer: time.NewTimer(0)} }

// HostClockSince makes a clock that counts from an instant of the host's monotonic clock, as Monotonic of a clock of
// another process gives it.
func HostClockSince(monotonic int64) *HostClock {
	c := NewHostClock()
	c.begin = c.begin.Add(time.Duration(monotonic - c.Monotonic()))
	return c
}

// Begin is the instant at which the clock showed zero.
func (c *HostClock) Begin() time.Time { return c.begin }

// Monotonic is what the host's monotonic clock (CLOCK_MONOTONIC) showed then, in ns. It is the same for all processes.
func (c *HostClock) Monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // every Linux has it
	}
	return t.Nano() - int64(time.Since(c.begin))
}

// Now is the time since the beginning.
func (c *HostClock) Now() sim.Time { return history.Of(time.Since(c.begin)) }

// Wait lets d pass.
func (c *HostClock) Wait(d time.Duration, wake <-chan struct{}) {
	c.timer.Reset(d)
	select {
	case <-c.timer.C:
	case <-wake:
		c.timer.Stop()
	}
}
