package bubble

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"unsafe"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Guest is a client process that runs code not written for the simulator.
type Guest struct {
	*run
	name   sim.ProcessID
	ctx    context.Context
	cancel context.CancelFunc
	caller sim.Caller
	labels map[unsafe.Pointer]*labeled // the calls of the guest's tasks; nil: it has one task

	// The run's mu protects the fields below.
	stopped bool       // the client is paused or has crashed
	goes    *sync.Cond // signaled when stopped becomes false or the run ends
	dirty   bool       // one of the fields below has something to collect
	calls   []*call
	dials   []*Conn
	dialled int
	conns   []*Conn
	changed []*Conn // connections that the driver must handle (see Conn.list)
	raised  []*sim.Signal
	atEnd   []ending
	serial  int
}

// Guest returns the guest that belongs to one of the world's client processes.
func (r *run) Guest(client sim.ProcessID) *Guest {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.guests {
		if g.name == client {
			return g
		}
	}
	g := &Guest{run: r, name: client, caller: r.callers.Caller(client), goes: sync.NewCond(&r.mu)}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	r.guests = append(r.guests, g)
	return g
}

// Context returns a context that is canceled at the end of the run.
func (g *Guest) Context() context.Context { return g.ctx }

// stop stops a client's guest, or lets it continue. A stopped guest's goroutines block at their next action on a
// connection.
func (r *run) stop(client sim.ProcessID, stopped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.guests {
		if g.name != client {
			continue
		}
		if g.stopped = stopped; !stopped {
			g.goes.Broadcast()
			g.touched = true
		}
	}
}

// proceed blocks while the guest is stopped and the run is not over. mu must be held.
func (g *Guest) proceed() {
	for g.stopped && !g.over {
		g.goes.Wait()
	}
}

// collect passes the guest's actions to the world.
func (g *Guest) collect() {
	slices.SortFunc(g.calls, func(a, b *call) int { return a.serial - b.serial })
	g.calls = slices.DeleteFunc(g.calls, func(k *call) bool {
		if k.returned {
			k.done.Raise()
		}
		return k.returned
	})
	for _, s := range g.raised {
		s.Raise()
	}
	g.raised = g.raised[:0]
	slices.SortStableFunc(g.dials, func(a, b *Conn) int { return cmp.Compare(a.server, b.server) })
	for _, c := range g.dials {
		c.pipe = g.world.Dial(g.name, c.server, c)
		c.pipe.Concurrent = !g.front.Serial()
		g.conns = append(g.conns, c)
		if c.blocked && c.unarmed() {
			c.arm()
		}
	}
	g.dials = g.dials[:0]
	slices.SortFunc(g.changed, func(a, b *Conn) int { return cmp.Compare(a.number(), b.number()) })
	for _, c := range g.changed {
		c.collect()
	}
	g.changed = g.changed[:0]
}

// breakAll breaks all of a guest's connections after the end of its run.
func (g *Guest) breakAll() {
	for _, c := range slices.Concat(g.dials, g.conns) {
		c.end(errOver)
	}
	g.dials, g.conns, g.changed = nil, nil, nil
}

// Begin begins an attempt, to which the client's requests belong from now on.
func (g *Guest) Begin(a history.Attempt) { g.caller.Begin(a, g.world.Now()) }

// Try returns the time at which the client's last try to get the lock began, and the servers that granted the lock in
// this try. In one attempt, a client may try several times, and ask several servers each time. If no request acquired
// the lock, Try returns the time at which the attempt began. It is called when the guest stops requesting the lock.
func (g *Guest) Try() (since sim.Time, granted []sim.ProcessID) {
	return g.caller.Try()
}

// Mark converts an instant to a Mark for the history.
func (g *Guest) Mark(at sim.Time) sim.Mark { return g.world.Mark(at) }

// Raise raises one of the world's signals on behalf of the guest's code, and returns the time of the call. If the
// client is paused, its tasks do not see the signal until the pause ends. After the end of the run, Raise returns
// history.Never.
func (g *Guest) Raise(s *sim.Signal) sim.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return history.Never
	}
	g.raised = append(g.raised, s)
	g.note()
	return g.now()
}

// call is a function that runs on its own goroutine while a task waits for it.
type call struct {
	serial   int
	what     string
	done     sim.Signal
	returned bool
	at       sim.Time // when the function returned
}

// ending is a function that runs after the end of a run.
type ending struct {
	what string
	f    func()
}

// AtEnd makes f run on a goroutine after the end of the run, once all calls have returned. f runs even if the client
// has crashed.
func (g *Guest) AtEnd(what string, f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.atEnd = append(g.atEnd, ending{what, f})
}

// Call runs f on a goroutine and parks env's task until f has returned. It returns the time at which f returned. If the
// client is paused at that time, the task continues later. what describes the call in the error message for an f that
// never returns.
func (g *Guest) Call(env sim.Env, what string, f func(context.Context)) (returned sim.Time) {
	g.mu.Lock()
	k := g.start(what, f)
	g.mu.Unlock()
	g.touched = true
	env.Sleep(sim.Forever, &k.done)
	return k.at
}

// Start is like Call, but does not wait for f. It closes done when f has returned or panicked. A panic fails the run.
func (g *Guest) Start(what string, f func(context.Context)) (done <-chan struct{}) {
	over := make(chan struct{})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.start(what, func(ctx context.Context) {
		defer close(over)
		f(ctx)
	})
	return over
}

// Dialed returns how many connections the guest has dialed.
func (g *Guest) Dialed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dialled
}

// start runs f on a worker, as one of the guest's calls. mu must be held.
func (g *Guest) start(what string, f func(context.Context)) *call {
	g.serial++
	k := &call{serial: g.serial, what: what}
	g.calls = append(g.calls, k)
	g.d.work(func() {
		defer g.returned(k)
		f(g.ctx)
	})
	return k
}

// returned records that a call has ended, even if it ended with a panic or with runtime.Goexit.
func (g *Guest) returned(k *call) {
	r := recover()
	g.mu.Lock()
	defer g.mu.Unlock()
	k.returned, k.at = true, g.now()
	if r != nil {
		g.fail(panicked(g.name, k.what, r))
	}
	g.note()
}

// Go runs f on a goroutine, concurrently with the client's work.
func (g *Guest) Go(f func(context.Context)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.d.work(func() { f(g.ctx) })
}
