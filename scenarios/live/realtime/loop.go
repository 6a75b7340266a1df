package realtime

import (
	"slices"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// Clock is the host's clock, as used by a loop.
type Clock interface {
	// Now returns the time since the start of the world. It never decreases.
	Now() sim.Time
	// Wait waits for d, but may return early. If wake contains an element, Wait removes it and returns at once.
	Wait(d time.Duration, wake <-chan struct{})
}

// Loop runs the events of one world in real time. All code that touches the world runs on the goroutine that calls Run.
type Loop struct {
	world *sim.World
	clock Clock
	wake  chan struct{} // contains one element if a function was posted
	late  Lateness
	own   bool

	framed []*Framed // used only in a loop with its own clients

	mu     sync.Mutex
	posted []func()
	err    error
}

// NewLoop returns a loop for a world in which nothing has happened yet.
func NewLoop(w *sim.World, c Clock) *Loop {
	return &Loop{world: w, clock: c, wake: make(chan struct{}, 1)}
}

// NewOwnLoop returns a loop for a world whose clients run in this process and use the host's clocks. If the host runs
// an event late, the clients notice, just as if their process had been stopped for a while.
func NewOwnLoop(w *sim.World, c Clock) *Loop {
	l := NewLoop(w, c)
	l.own = true
	return l
}

// World returns the world that the loop drives. Only code that runs on the loop's goroutine may touch it.
func (l *Loop) World() *sim.World { return l.world }

// Do makes the loop run f at the world's current time, after all events that are due by then. Do does not wait for f,
// and may be called on any goroutine. Functions posted by one goroutine run in order. Each runs at most once, and never
// after the loop has ended.
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

// Fail ends the run with an error. Only the first error counts. Fail may be called on any goroutine.
func (l *Loop) Fail(err error) {
	l.mu.Lock()
	if l.err == nil {
		l.err = err
	}
	l.mu.Unlock()
	l.rouse()
}

// Err returns the error that ended the run, or nil.
func (l *Loop) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Late returns how late events have been so far.
func (l *Loop) Late() Lateness { return l.late }

// Run runs events and posted functions until the world's time reaches limit, done (if not nil) returns true, or Fail is
// called. It reports whether it reached the limit. Run continues even when no events are left, because a function may
// still be posted.
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

// turn runs all due events and all functions that have been posted.
func (l *Loop) turn(limit sim.Time) {
	if !l.own {
		l.catchUp(limit)
	} else if at, ok := l.world.Next(); ok && l.clock.Now() > at+lateAfter {
		for _, f := range slices.Clone(l.framed) {
			f.in.Take()
			f.collect()
		}
	}
	l.mu.Lock()
	posted := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, f := range posted {
		if !l.own { // if the loop has its own clients, first handle what has arrived for them
			l.catchUp(limit)
		}
		f()
	}
	l.catchUp(limit)
}

// lateAfter is the delay after which a loop whose clients run in this process (see NewOwnLoop) is considered late.
const lateAfter = sim.Time(time.Millisecond)

// catchUp runs all due events, and advances the world to the host's time, but not beyond limit.
func (l *Loop) catchUp(limit sim.Time) {
	now := max(min(l.clock.Now(), limit), l.world.Now())
	for {
		at, ok := l.world.Next()
		if !ok || at > now {
			break
		}
		if at > l.world.Now() {
			l.late = append(l.late, (now - at).Duration())
		}
		if l.own {
			now = max(min(l.clock.Now(), limit), now)
			l.world.StepLate(now)
			continue
		}
		l.world.Step()
	}
	if l.world.Err() == nil {
		l.world.Advance(now)
	}
}
