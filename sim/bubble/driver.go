package bubble

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Driver runs worlds one after another. It executes each world's events and keeps the world in step with its guests. It
// must be created and used on the bubble's first goroutine.
type Driver struct {
	*run
	timer *time.Timer

	mu      sync.Mutex
	workers []*worker // idle workers
}

// run is the state shared by the guests in one run. Code that is still running after the end of its run continues to
// use the old run's state, and so cannot affect a later run.
type run struct {
	d       *Driver
	world   *sim.World
	begin   time.Time
	servers []sim.ProcessID
	front   sim.Front
	callers sim.Callers
	// set if the world may have woken a guest, so the driver must wait until all guests are blocked again
	touched bool
	wake    chan struct{} // has one element if a guest has done something

	mu      sync.Mutex
	guests  []*Guest
	refused []Refused
	over    bool  // the run has ended, so all further actions of guests fail
	err     error // the first failure of a guest's own code
}

// MutexesPass lets time advance while goroutines are waiting for a mutex, in all of the process's bubbles. It reports
// whether this is possible. During the first call, no goroutine in a bubble may be waiting for a mutex.
func MutexesPass() bool { return countMutexes() }

// NewDriver returns a driver. It advances the bubble's clock, which starts in the year 2000, to the default start time
// of the worlds' clocks.
func NewDriver() *Driver {
	MutexesPass()
	time.Sleep(time.Until(time.Unix(0, sim.Epoch)))
	d := &Driver{timer: time.NewTimer(0)}
	<-d.timer.C
	return d
}

// Wall returns the time that the next world's wall clocks must show when it starts. This is the bubble's current time,
// after Wall has advanced it to a whole second. A guest that rounds times to milliseconds then rounds them the same way
// in all runs with the same seed.
func (d *Driver) Wall() int64 {
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(time.Second).Sub(now))
	return time.Now().UnixNano()
}

// Begin starts a run. No events in the world may have happened yet, and the world's wall clocks must show the time that
// Wall returned. servers lists the servers that guests can dial, and front implements their wire protocol.
func (d *Driver) Begin(w *sim.World, servers []sim.ProcessID, front sim.Front) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run = &run{d: d, world: w, begin: time.Now(), servers: slices.Clone(servers), front: front,
		callers: front.Begin(), wake: make(chan struct{}, 1)}
	w.OnStop(d.stop)
}

// Recorded tells the front end (see Begin) that a server has recorded a change to a lock's key.
func (d *Driver) Recorded(e *history.Event) { d.callers.Recorded(e) }

// now returns the world's time according to the bubble's clock.
func (r *run) now() sim.Time { return history.Of(time.Since(r.begin)) }

// Run is like World.Run, but keeps the world in step with the guests. It also ends when the clock reaches the limit.
// Once it has returned, neither the world nor any guest is active.
func (r *run) Run(limit sim.Time, done func() bool) (limited bool) {
	r.touched = true
	for {
		if r.touched {
			synctest.Wait()
			r.touched = false
		}
		r.collect()
		if r.touched {
			continue
		}
		at, ok := r.world.Next()
		now := r.now()
		switch {
		case done != nil && done() || r.world.Err() != nil || r.failed() != nil:
			return false
		case ok && at <= now:
			r.world.Step()
		case now >= limit:
			r.world.Advance(limit)
			return ok
		case ok:
			r.sleep(min(at, limit) - now)
		default:
			r.sleep(limit - now)
		}
	}
}

func (r *run) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Refused describes a request that was refused because it is not simulated. Its connection was closed, unless an error
// reply was sent.
type Refused struct {
	Client, Server sim.ProcessID
	Request        string
}

// Refused returns the current run's requests that were refused because they are not simulated.
func (r *run) Refused() []Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.refused)
}

// Fail records a failure that cannot be attributed to a guest. It ends the current run.
func (d *Driver) Fail(err error) {
	d.mu.Lock()
	r := d.run
	d.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail(err)
}

// fail records a failure in a guest's own code, if it is the run's first one. The failure ends the run. mu must be
// held.
func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rouse()
}

// rouse wakes the driver so that it handles what the guests have done.
func (r *run) rouse() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// sleep advances the bubble's clock by t, but stops as soon as a guest does something.
func (r *run) sleep(t sim.Time) {
	timer := r.d.timer
	timer.Reset(t.Duration())
	select {
	case <-timer.C:
	case <-r.wake:
		timer.Stop()
	}
	r.touched = true
}

// collect passes the actions of all guests to the world, one client after another.
func (r *run) collect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.guests {
		if !g.dirty || r.world.Paused(g.name) {
			continue
		}
		g.dirty = false
		if r.world.Down(g.name) {
			continue // the client has crashed, so its actions have no effect
		}
		r.world.Advance(r.now())
		g.collect()
	}
}

// note tells the driver that a guest has done something. mu must be held.
func (g *Guest) note() {
	if !g.dirty || g.over {
		g.dirty = true
		g.rouse()
	}
}

// patience is how long, on the bubble's clock, the guests may take to finish after the end of a run.
const patience = 10 * time.Minute

// End ends the run for the guests. It cancels their contexts, breaks their connections, and makes further dials fail.
// It waits, on the bubble's clock, until their calls have returned, and then until the functions passed to AtEnd have
// returned. It returns the first failure in the guests' own code.
func (r *run) End() error {
	r.mu.Lock()
	r.over = true
	for _, g := range r.guests {
		g.cancel()
		g.goes.Broadcast()
		g.breakAll()
	}
	r.mu.Unlock()
	if err := r.settle(); err != nil {
		return err
	}
	r.mu.Lock()
	for _, g := range r.guests {
		for _, e := range g.atEnd {
			g.start(e.what, func(context.Context) { e.f() })
		}
	}
	r.mu.Unlock()
	return r.settle()
}

// settle waits until no call is running, but no longer than patience. It waits even after a failure.
func (r *run) settle() error {
	for end := time.Now().Add(patience); ; {
		synctest.Wait()
		calls := r.calls()
		left := time.Until(end)
		switch err := r.failed(); {
		case len(calls) == 0 || err != nil && left <= 0:
			return err
		case left <= 0:
			return &StuckError{Calls: calls, Patience: patience}
		}
		r.sleep(history.Of(left))
	}
}

// calls describes the guests' calls that have not returned.
func (r *run) calls() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.guests {
		for _, k := range g.calls {
			if k.returned {
				continue
			}
			names = append(names, k.what+" of "+string(g.name))
		}
	}
	return names
}

// Close ends the driver's goroutines so that the bubble can end. If guests have left code running, Close first gives it
// time to finish: it waits, on the bubble's clock, for as long as libraries may keep dialing.
func (d *Driver) Close() {
	time.Sleep(patience)
	synctest.Wait()
	d.Dismiss()
}

// Dismiss ends the goroutines of a driver that is no longer in use, without waiting for them to end.
func (d *Driver) Dismiss() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.workers {
		close(w.jobs)
	}
	d.workers = nil
	d.timer.Stop()
}

// worker is a goroutine that runs one function after another, so that its grown stack is reused.
type worker struct{ jobs chan func() }

// work runs f on a worker.
func (d *Driver) work(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.workers); n > 0 {
		w := d.workers[n-1]
		d.workers = d.workers[:n-1]
		w.jobs <- f
		return
	}
	w := &worker{jobs: make(chan func(), 1)}
	w.jobs <- f
	go func() {
		for f := range w.jobs {
			d.employ(w, f)
		}
	}()
}

// employ runs f on a worker. If f calls runtime.Goexit, the worker ends too.
func (d *Driver) employ(w *worker, f func()) {
	whole := false
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if whole {
			d.workers = append(d.workers, w)
		}
	}()
	f()
	whole = true
}

// StuckError reports that guests' calls did not return after the end of the run.
type StuckError struct {
	Calls    []string // such as "Lock of client-1"
	Patience time.Duration
}

// Error returns a message that lists the calls.
func (e *StuckError) Error() string {
	return fmt.Sprintf("%s did not return within %v after its context was canceled and its connections were broken",
		strings.Join(e.Calls, ", "), e.Patience)
}

func panicked(client sim.ProcessID, what string, value any) error {
	return fmt.Errorf("%s of %s: panic: %v\n%s", what, client, value, debug.Stack())
}
