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

// Driver lets the events of successive worlds happen, in step with the guests. It must be made and used in the
// goroutine that a bubble begins with.
type Driver struct {
	*run
	timer *time.Timer

	mu      sync.Mutex
	workers []*worker // idle
}

// run is what the guests of one run share. Code that continues after its run keeps it, so that nothing it does or reads
// belongs to a later run.
type run struct {
	d       *Driver
	world   *sim.World
	begin   time.Time
	servers []sim.ProcessID
	front   sim.Front
	callers sim.Callers
	touched bool          // the world has affected a guest since all were last known to be blocked
	wake    chan struct{} // has one element if a guest has done something

	mu      sync.Mutex
	guests  []*Guest
	refused []Refused
	over    bool  // whatever a guest does fails
	err     error // the first failure of a guest's own code
}

// MutexesPass makes the waits for a mutex let time pass in all bubbles of the process, and reports whether it could. No
// goroutine of a bubble may be waiting for a mutex when it is called first.
func MutexesPass() bool { return countMutexes() }

// NewDriver makes a driver. It advances the bubble's clock, which starts in the year 2000, to where the worlds' clocks
// start.
func NewDriver() *Driver {
	MutexesPass()
	time.Sleep(time.Until(time.Unix(0, sim.Epoch)))
	d := &Driver{timer: time.NewTimer(0)}
	<-d.timer.C
	return d
}

// Wall is what the wall clocks of the next world must show at its start: the time of the bubble's clock. It first
// advances that to a whole second, so that what a guest rounds to milliseconds is rounded alike in equal runs.
func (d *Driver) Wall() int64 {
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(time.Second).Sub(now))
	return time.Now().UnixNano()
}

// Begin starts a run of a world in which no event has happened and whose wall clocks show Wall, with the servers that
// guests can dial, and what stands before them.
func (d *Driver) Begin(w *sim.World, servers []sim.ProcessID, front sim.Front) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run = &run{d: d, world: w, begin: time.Now(), servers: slices.Clone(servers), front: front,
		callers: front.Begin(), wake: make(chan struct{}, 1)}
	w.OnStop(d.stop)
}

// Recorded passes on what a server has recorded of a lock's key that a request has changed.
func (d *Driver) Recorded(e *history.Event) { d.callers.Recorded(e) }

// now is the world's time by the bubble's clock.
func (r *run) now() sim.Time { return history.Of(time.Since(r.begin)) }

// Run is World.Run, in step with the guests. Nothing more can happen once the clock reaches the limit without an event
// of the world or an act of a guest.
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

// Refused is a request that is not simulated. The connection that it came by was closed.
type Refused struct {
	Client, Server sim.ProcessID
	Request        string
}

// Refused are the requests of the current run that were refused since they are not simulated.
func (r *run) Refused() []Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.refused)
}

// Fail records a failure of code that cannot be attributed to a guest: it ends the current run.
func (d *Driver) Fail(err error) {
	d.mu.Lock()
	r := d.run
	d.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail(err)
}

// fail records the first failure of a guest's own code; the run ends there. It is called with mu held.
func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rouse()
}

// rouse makes the driver examine what the guests have done.
func (r *run) rouse() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// sleep advances the bubble's clock by t, or until a guest has done something.
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

// collect passes what guests have done to the world, clients in order.
func (r *run) collect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.guests {
		if !g.dirty || r.world.Paused(g.name) {
			continue
		}
		g.dirty = false
		if r.world.Down(g.name) {
			continue // frozen: its acts have no effect
		}
		r.world.Advance(r.now())
		g.collect()
	}
}

// note notifies the driver that a guest has done something. It is called with mu held.
func (g *Guest) note() {
	if !g.dirty || g.over {
		g.dirty = true
		g.rouse()
	}
}

// patience is how long the guests may take, on the bubble's clock, to finish after a run.
const patience = 10 * time.Minute

// End ends the run for the guests: their contexts are cancelled, their connections broken, and every further dial
// fails. It waits, on the bubble's clock, until their calls have returned, then until the functions given to AtEnd
// have, and returns the first failure of their own code.
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

// settle waits until no call is under way, also after a failure, or until the guests' patience is exhausted.
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

// calls names the calls of guests that have not returned.
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

// Close lets the bubble end: it waits, on the bubble's clock, for what guests have left running, as long as libraries
// keep dialling after their end, and ends the goroutines of the driver.
func (d *Driver) Close() {
	time.Sleep(patience)
	synctest.Wait()
	d.Dismiss()
}

// Dismiss ends the goroutines of a driver that is no longer used. It does not wait.
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

// work runs f on a goroutine.
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

// employ runs f; a worker whose function leaves by runtime.Goexit is lost.
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

// StuckError reports calls of a guest that did not return although the run was over.
type StuckError struct {
	Calls    []string // as "Lock of client-1"
	Patience time.Duration
}

// Error names the calls.
func (e *StuckError) Error() string {
	return fmt.Sprintf("%s did not return within %v after its context was cancelled and its connections were broken",
		strings.Join(e.Calls, ", "), e.Patience)
}

func panicked(client sim.ProcessID, what string, value any) error {
	return fmt.Errorf("%s of %s: panic: %v\n%s", what, client, value, debug.Stack())
}
