package bubble

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Driver lets the events of one world after another happen, in step with the guests. It must be made and used in the
// goroutine that a bubble begins with.
type Driver struct {
	world   *sim.World
	begin   time.Time // of the run
	servers []sim.ProcessID
	timer   *time.Timer
	wake    chan struct{} // has one element if a guest has done something
	values  values        // of the run, as are scripts
	scripts scripts
	touched bool // the world has reached a guest since all were last known to be blocked

	mu      sync.Mutex
	guests  []*Guest
	workers []*worker // idle
	err     error     // the first failure of a guest's own code
}

// NewDriver makes a driver. It lets the bubble's clock, which starts in the year 2000, go on to where the worlds'
// clocks start.
func NewDriver() *Driver {
	time.Sleep(time.Until(time.Unix(0, sim.Epoch)))
	d := &Driver{timer: time.NewTimer(0), wake: make(chan struct{}, 1)}
	<-d.timer.C
	return d
}

// Wall is what the wall clocks of the next world must show at its start: what the bubble's clock shows. It lets that
// go on to a whole second, so that what a guest rounds to milliseconds is rounded alike in equal runs.
func (d *Driver) Wall() int64 {
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(time.Second).Sub(now))
	return time.Now().UnixNano()
}

// Begin starts a run of a world in which no event has happened and whose wall clocks show Wall, with the servers that
// guests can dial. The guests of the run before are gone.
func (d *Driver) Begin(w *sim.World, servers []sim.ProcessID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.world, d.begin, d.touched = w, time.Now(), false
	d.servers = servers
	d.guests, d.err = nil, nil
	d.values, d.scripts = values{}, scripts{}
}

// shift is how far the clocks are ahead, at the start of the run, of those of a run that is the first: the time that
// earlier runs took.
func (d *Driver) shift() time.Duration { return d.begin.Sub(time.Unix(0, sim.Epoch)) }

// Told is what a digest takes for a value that is recorded: the attempt whose owner value it is.
func (d *Driver) Told(value string) string {
	if a, ok := d.values[value]; ok {
		return string(a)
	}
	return value
}

// now is the world's time, as the bubble's clock tells it.
func (d *Driver) now() sim.Time { return history.Of(time.Since(d.begin)) }

// Run is World.Run, in step with the guests. Nothing more can happen if the clock comes to the limit without an event
// of the world or an act of a guest.
func (d *Driver) Run(limit sim.Time, done func() bool) (limited bool) {
	d.touched = true
	for {
		if d.touched {
			synctest.Wait()
			d.touched = false
		}
		d.collect()
		if d.touched {
			continue
		}
		at, ok := d.world.Next()
		now := d.now()
		switch {
		case done != nil && done() || d.world.Err() != nil || d.failed() != nil:
			return false
		case ok && at <= now:
			d.world.Step()
		case now >= limit:
			d.world.Advance(limit)
			return ok
		case ok:
			d.sleep(min(at, limit) - now)
		default:
			d.sleep(limit - now)
		}
	}
}

func (d *Driver) failed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// Fail notes the first failure of a guest's own code; the run ends there.
func (d *Driver) Fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// sleep lets the bubble's clock go on by t, or until a guest has done something.
func (d *Driver) sleep(t sim.Time) {
	d.timer.Reset(t.Duration())
	select {
	case <-d.timer.C:
	case <-d.wake:
		d.timer.Stop()
	}
	d.touched = true
}

// collect hands what guests have done to the world, clients in order.
func (d *Driver) collect() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.guests {
		if !g.dirty || d.world.Paused(g.name) {
			continue
		}
		g.dirty = false
		if d.world.Down(g.name) {
			continue // frozen: what it does reaches nobody
		}
		d.world.Advance(d.now())
		g.collect()
	}
}

// note tells the driver that a guest has done something. It is called with mu held.
func (g *Guest) note() {
	if g.dirty {
		return
	}
	g.dirty = true
	select {
	case g.d.wake <- struct{}{}:
	default:
	}
}

// patience is how long the guests may take, on the bubble's clock, to come to an end after a run.
const patience = 10 * time.Minute

// End ends the run for the guests: their contexts are cancelled, their connections broken, and every further dial
// fails. It waits, on the bubble's clock, until what they were called for has returned, then until what AtEnd asked
// for has, and returns the first failure of their own code.
func (d *Driver) End() error {
	d.mu.Lock()
	for _, g := range d.guests {
		g.over = true
		g.cancel()
		g.breakAll()
	}
	d.mu.Unlock()
	if err := d.settle(); err != nil {
		return err
	}
	d.mu.Lock()
	for _, g := range d.guests {
		for _, e := range g.atEnd {
			g.start(e.what, func(context.Context) { e.f() })
		}
	}
	d.mu.Unlock()
	return d.settle()
}

// settle waits until no call is under way, also after a failure: what is left of a run would act in the next.
func (d *Driver) settle() error {
	for end := time.Now().Add(patience); ; {
		synctest.Wait()
		calls := d.calls()
		left := time.Until(end)
		switch err := d.failed(); {
		case len(calls) == 0 || err != nil && left <= 0:
			return err
		case left <= 0:
			return &StuckError{Calls: calls, Patience: patience}
		}
		d.sleep(history.Of(left))
	}
}

// calls names what guests have been called for that has not returned.
func (d *Driver) calls() (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.guests {
		for _, k := range g.calls {
			if k.returned {
				continue
			}
			names = append(names, k.what+" of "+string(g.name))
		}
	}
	return names
}

// Close lets the bubble end: it waits, on the bubble's clock, for as long as libraries go on dialling after their end,
// and ends the idle workers.
func (d *Driver) Close() {
	time.Sleep(patience)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.workers {
		close(w.jobs)
	}
	d.workers = nil
	d.timer.Stop()
}

// Guest is the code of one client process that is no task.
type Guest struct {
	d      *Driver
	name   sim.ProcessID
	ctx    context.Context
	cancel context.CancelFunc
	owners owners

	// The rest is guarded by the driver's mu.
	over    bool // the run is: whatever the guest does fails
	dirty   bool // something below is to be collected
	calls   []*call
	dials   []*Conn
	conns   []*Conn
	changed []*Conn // have been written to or closed
	raised  []*sim.Signal
	atEnd   []ending
	serial  int
}

// Guest is the guest of a client process of the world.
func (d *Driver) Guest(client sim.ProcessID) *Guest {
	for _, g := range d.guests {
		if g.name == client {
			return g
		}
	}
	g := &Guest{d: d, name: client}
	g.owners.shift, g.owners.of, g.owners.scripts = d.shift(), d.values, d.scripts
	g.ctx, g.cancel = context.WithCancel(context.Background())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.guests = append(d.guests, g)
	return g
}

// Context is cancelled when the run is over.
func (g *Guest) Context() context.Context { return g.ctx }

// collect hands what the guest has done to the world.
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
		c.pipe = g.d.world.Dial(g.name, c.server, c)
		g.conns = append(g.conns, c)
	}
	g.dials = g.dials[:0]
	slices.SortFunc(g.changed, func(a, b *Conn) int { return cmp.Compare(a.number(), b.number()) })
	for _, c := range g.changed {
		c.collect()
	}
	g.changed = g.changed[:0]
}

// breakAll breaks every connection of a guest whose run is over.
func (g *Guest) breakAll() {
	for _, c := range slices.Concat(g.dials, g.conns) {
		c.end(errOver)
	}
	g.dials, g.conns, g.changed = nil, nil, nil
}

// Begin says that the client begins an attempt: what it asks the servers from now on is on its behalf, if no owner
// value says otherwise.
func (g *Guest) Begin(a history.Attempt) { g.owners.begin(a, g.d.world.Now()) }

// Try is the latest round of requests for the lock of the attempt that has begun: when the first left, and who said
// yes. If none was recognised, since is when the attempt began.
func (g *Guest) Try() (since sim.Time, granted []sim.ProcessID) {
	t := &g.owners.try
	return t.since, slices.Clone(t.granted)
}

// Mark remembers an instant for the history.
func (g *Guest) Mark(at sim.Time) sim.Mark { return g.d.world.Mark(at) }

// Raise raises a signal of the world for code that is no task, and says when that code did so: in a pause, earlier than
// the signal is seen; history.Never if the run is over.
func (g *Guest) Raise(s *sim.Signal) sim.Time {
	g.d.mu.Lock()
	defer g.d.mu.Unlock()
	if g.over {
		return history.Never
	}
	g.raised = append(g.raised, s)
	g.note()
	return g.d.now()
}

// call is what a task waits for that runs on a goroutine.
type call struct {
	serial   int
	what     string
	done     sim.Signal
	returned bool
	at       sim.Time // when it did
}

// ending is what a guest does when its run is over.
type ending struct {
	what string
	f    func()
}

// AtEnd has f run when the run is over and all calls have returned, on a goroutine: also if the client has crashed.
func (g *Guest) AtEnd(what string, f func()) {
	g.d.mu.Lock()
	defer g.d.mu.Unlock()
	g.atEnd = append(g.atEnd, ending{what, f})
}

// Call runs f on a goroutine and parks the task of env until it has returned; it gives the time of that, which in a
// pause is earlier than the time at which the task goes on. what says what it is for, should it never return.
func (g *Guest) Call(env sim.Env, what string, f func(context.Context)) (returned sim.Time) {
	g.d.mu.Lock()
	k := g.start(what, f)
	g.d.mu.Unlock()
	env.Sleep(sim.Forever, &k.done)
	return k.at
}

// start begins a call. It is called with mu held.
func (g *Guest) start(what string, f func(context.Context)) *call {
	g.serial++
	k := &call{serial: g.serial, what: what}
	g.calls = append(g.calls, k)
	g.d.touched = true
	g.d.work(func() {
		defer g.returned(k)
		f(g.ctx)
	})
	return k
}

// returned notes the end of a call, also of one that panicked or left by runtime.Goexit.
func (g *Guest) returned(k *call) {
	r := recover()
	g.d.mu.Lock()
	defer g.d.mu.Unlock()
	k.returned, k.at = true, g.d.now()
	if r != nil && g.d.err == nil {
		g.d.err = panicked(g.name, k.what, r)
	}
	g.note()
}

// worker is a goroutine that runs one function after another: what its stack has grown to serves the next.
type worker struct{ jobs chan func() }

// work runs f on a goroutine. It is called with mu held.
func (d *Driver) work(f func()) {
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
			d.run(w, f)
		}
	}()
}

// run runs f; a worker whose function leaves by runtime.Goexit is lost.
func (d *Driver) run(w *worker, f func()) {
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

// Go runs f on a goroutine beside what the client does.
func (g *Guest) Go(f func(context.Context)) {
	g.d.mu.Lock()
	defer g.d.mu.Unlock()
	g.d.work(func() { f(g.ctx) })
}
