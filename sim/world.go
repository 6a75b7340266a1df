package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Options are settings that apply to a whole world.
type Options struct {
	Delay Delay // delay of messages in each direction, unless Links sets another
	Tail  Tail  // which share of messages is slow, and how slow
	Links []LinkDelay
	// Onlooker, if set, is called for each message that a server sends unprompted. It must not change the world.
	Onlooker func(Sent)
	// Asked, if set, is called for each request that a server is about to serve. It must not change the world or keep
	// the request.
	Asked func(server ProcessID, r *Incoming)
	// Command, if set, returns the name of a request's command, given the request's arguments. The name is used in a
	// Passage. If there are inspectors, Command is called for each request, in the order in which the requests are
	// sent. If Command is nil, the name is the first argument.
	Command func(args []string) string
	// Stacks, if set, provides the coroutines that tasks run on.
	Stacks *Stacks
	// Nameless must be set if the clients use random values that do not depend on the seed. The digest then depends
	// only on which values and strings are equal, not on their contents.
	Nameless bool
	// Wall is the time that every wall clock shows at the start, in ns since the Unix epoch; 0 means Epoch.
	Wall int64
	// Endless lets the run go on indefinitely. The total number of events is then not limited, and data that is no
	// longer needed is freed. Delays depend on the number of messages sent, so the run cannot be reproduced.
	Endless bool
	// Keep, if set, is called for each event before the event is recorded. It may change the event, and it reports
	// whether to record it. It must not reject clients' events.
	Keep func(e *history.Event) bool
}

// Tail describes a network's slow messages: out of every million messages, PPM are delayed by Delay instead of the
// link's delay.
type Tail struct {
	PPM   int64 // number of slow messages in a million
	Delay Delay
}

// Delay is a range of travel times. Each message's travel time is drawn uniformly from it. If Lo == Hi, the delay is
// fixed.
type Delay struct{ Lo, Hi time.Duration }

// pick derives a time within the range from 64 random bits.
func (d Delay) pick(bits uint64) Time {
	return Time(d.Lo) + Time(bits%uint64(d.Hi-d.Lo+1))
}

// LinkDelay sets the delay of messages from one process to another.
type LinkDelay struct {
	From, To ProcessID
	Delay    Delay
}

// eventLimit is the maximum number of events in a run; ordinary runs have a few thousand. instantLimit is the maximum
// number of events at one instant; ordinary instants have a few dozen. A run that exceeds either limit fails.
const (
	eventLimit   = 5_000_000
	instantLimit = 200_000
)

// errEndless reports that a run has exceeded eventLimit or instantLimit.
var errEndless = errors.New("sim: the run has more than 5,000,000 events, or 200,000 at one instant: " +
	"make the run shorter or its periods longer, or look for a client that loops without sleeping")

// World is one simulated run. Reset prepares it for the next run, which reuses its memory. A World is not safe for
// concurrent use.
type World struct {
	seed     uint64
	opts     Options
	now      Time
	seq      uint64
	events   int
	before   int // number of events before the current instant
	queue    queue
	procs    []*Process
	procSlab slab[Process]
	byName   map[ProcessID]*Process
	digest   Digest
	texts    map[string]uint64 // with Nameless: a number for each text in the digest
	err      error
	hist     history.History
	pending  []pendingDeadline
	net      network
	stacks   *Stacks
	running  *task // the task that is running, if any
	watch    func(Moment)
	inspect  []func(Passage) Interference
	inTail   func(from, to ProcessID) // called for each message with a tail delay
	onStop   func(id ProcessID, stopped bool)
	acting   uint64 // number of the current event
	early    uint64 // number of the last event that was scheduled before the watch began
}

// pendingDeadline is the end of a lease by a process's clock. It cannot be converted to true time until the end of the
// run, when all of the clock's jumps and drifts are known.
type pendingDeadline struct {
	event int
	proc  *Process
	at    Deadline
}

// New returns an empty world with the given seed.
func New(seed uint64, opts Options) *World {
	w := &World{byName: map[ProcessID]*Process{}}
	w.Reset(seed, opts)
	return w
}

// Reset ends the run, stops everything that is still running, and prepares an empty world. Histories of earlier runs
// become invalid.
func (w *World) Reset(seed uint64, opts Options) {
	w.kill()
	w.seed, w.opts = seed, opts
	w.now, w.seq, w.events, w.before, w.err = 0, 0, 0, 0, nil
	w.watch, w.inspect, w.inTail, w.onStop = nil, w.inspect[:0], nil, nil
	w.stacks = cmp.Or(opts.Stacks, &shared)
	clear(w.queue)
	w.queue = w.queue[:0]
	w.procs = w.procs[:0]
	w.procSlab.reset()
	clear(w.byName)
	w.digest, w.texts = Digest(mix(seed)), nil
	if opts.Nameless {
		w.texts = map[string]uint64{}
	}
	clear(w.hist.Events)
	w.hist = history.History{Events: w.hist.Events[:0]}
	w.pending = w.pending[:0]
	w.net.reset()
}

// kill unwinds all coroutines, because they would leak otherwise.
func (w *World) kill() {
	for _, p := range w.procs {
		p.stopTasks()
	}
}

// AddServer adds a server process. It starts at time zero, before any client.
func (w *World) AddServer(id ProcessID, s Server) {
	p := w.add(id)
	p.server = s
	p.boot()
}

// AddClient adds a client process whose main task starts at the given true time.
func (w *World) AddClient(id ProcessID, at Time, main func(Env)) {
	p := w.add(id)
	p.main = p.newTask("main", main)
	w.schedule(at, p.main, p.main.wait)
}

// AddSuccessor adds a client that runs on an earlier client's machine. It inherits that machine's clocks, with their
// past jumps and drifts.
func (w *World) AddSuccessor(id, of ProcessID, at Time, main func(Env)) {
	w.AddClient(id, at, main)
	p := w.process(id)
	p.clock.segments = append(p.clock.segments[:0], w.process(of).clock.segments...)
}

// BeginAgain stops everything that a client is doing and closes its connections, without recording this. It then starts
// a new main task at the given true time.
func (w *World) BeginAgain(id ProcessID, at Time, main func(Env)) {
	p := w.process(id)
	p.stopTasks()
	p.down = false
	for _, c := range slices.Clone(p.conns) {
		c.bid()
		c.close()
	}
	p.main = p.newTask("main", main)
	w.schedule(at, p.main, p.main.wait)
}

func (w *World) add(id ProcessID) *Process {
	if w.byName[id] != nil {
		panic("sim: process " + string(id) + " added twice")
	}
	p := w.procSlab.take()
	*p = Process{w: w, id: id, index: len(w.procs), clock: p.clock, held: p.held[:0], timers: p.timers[:0],
		tasks: p.tasks[:0], conns: p.conns[:0], points: p.points[:0]}
	p.clock.reset(cmp.Or(w.opts.Wall, Epoch))
	p.stream = newStream(w.seed, string(id))
	w.procs = append(w.procs, p)
	w.byName[id] = p
	return p
}

// Seed returns the run's seed.
func (w *World) Seed() uint64 { return w.seed }

// Now returns the true time. Code inside the simulation must not see it.
func (w *World) Now() Time { return w.now }

// Mark converts an instant of true time to a Mark, for code that is not a task.
func (w *World) Mark(at Time) Mark { return Mark{at} }

// Time converts a Mark to true time, for code that is not a task.
func (w *World) Time(m Mark) Time { return m.at }

// Events returns the number of events that have happened so far.
func (w *World) Events() int { return w.events }

// Digest returns the hash of everything that has happened so far.
func (w *World) Digest() Digest { return w.digest }

// SoFar returns the history recorded so far. It must not be changed, and is valid until the world's next event.
func (w *World) SoFar() []history.Event { return w.hist.Events }

// OnTail sets a function that is called, until the end of the run, whenever a message with a tail delay is sent (see
// Tail).
func (w *World) OnTail(f func(from, to ProcessID)) { w.inTail = f }

// Err returns the failure that stopped the run: a panic in a task, with its stack, or too many events.
func (w *World) Err() error { return w.err }

// Stream returns the random stream with the given name for this run.
func (w *World) Stream(name string) *Stream { return NewStream(w.seed, name) }

// At calls f at the given true time, or as soon as possible if that time has already passed.
func (w *World) At(at Time, f func()) { w.schedule(max(at, w.now), callback(f), 0) }

type callback func()

func (f callback) act(uint64) { f() }

func (w *World) schedule(at Time, who actor, arg uint64) {
	w.seq++
	w.queue.push(&event{at: at, seq: w.seq, who: who, arg: arg})
}

// Next returns the true time of the next event; ok is false if there is none.
func (w *World) Next() (at Time, ok bool) {
	if len(w.queue) == 0 || w.err != nil {
		return 0, false
	}
	return w.queue[0].at, true
}

// Step executes the next event.
func (w *World) Step() { w.StepLate(0) }

// StepLate executes the next event at its due time or at now, whichever is later. A process can tell from its clocks
// that an event is late.
func (w *World) StepLate(now Time) {
	var e event
	w.queue.pop(&e)
	at := max(e.at, now)
	if at > w.now {
		w.before = w.events
	}
	w.now, w.acting = at, e.seq
	w.events++
	if w.events > eventLimit && !w.opts.Endless || w.events-w.before > instantLimit {
		w.fail(errEndless)
		return
	}
	e.who.act(e.arg)
}

// Advance advances true time to the given time, which must not be later than the next event. After that, code that is
// not a task can act at that time.
func (w *World) Advance(at Time) {
	if next, ok := w.Next(); ok && at > next || at < w.now {
		panic("sim: time must not skip an event or go back")
	}
	if at > w.now {
		w.before = w.events
		w.now = at
	}
}

// Run executes events until there are none left, the next event is later than limit, or done (if not nil) returns true.
// It reports whether it stopped because of the limit.
func (w *World) Run(limit Time, done func() bool) (limited bool) {
	for {
		at, ok := w.Next()
		if !ok || done != nil && done() {
			return false
		}
		if at > limit {
			w.now = limit
			return true
		}
		w.Step()
	}
}

// Busy reports whether a client still has work to do, or a message between a client and a server is in flight. Pushes
// and messages between servers do not count, and neither do messages that are held back by a cut or wait to be sent
// again.
func (w *World) Busy() bool {
	if w.net.underWay > 0 {
		return true
	}
	for _, p := range w.procs {
		if p.main != nil && !p.main.done {
			return true
		}
	}
	return false
}

// Sent returns how many messages one process has sent to another so far.
func (w *World) Sent(from, to ProcessID) int { return w.link(from, to).sent }

// Finish ends the run. It stops everything that is still running, converts all lease end times to true time, and
// returns the history, which stays valid until Reset.
func (w *World) Finish() *history.History {
	w.kill()
	for _, d := range w.pending {
		g := w.hist.Events[d.event].Grant
		g.Until, g.Open = history.Never, d.at.Open
		if d.at.At != Forever {
			g.Until = d.proc.clock.trueTime(d.at.Clock, int64(d.at.At), g.Granted)
		}
		if told := d.at.Announced; told != nil {
			crashed := w.crash(d.proc.id, d.event)
			g.Told = g.Until != history.Never && *told < min(g.Until, crashed)
			g.Until = min(g.Until, *told, crashed)
		}
		if g.Until != history.Never {
			w.digest.word(uint64(g.Until))
		}
	}
	w.pending = w.pending[:0]
	w.hist.Header.Seed = w.seed
	w.hist.Header.End = w.now
	return &w.hist
}

// crash returns the time at which process p crashed after the event with the given index, or history.Never if it did
// not crash. A crashed process does not receive notifications.
func (w *World) crash(p ProcessID, after int) Time {
	for i := after + 1; i < len(w.hist.Events); i++ {
		if e := &w.hist.Events[i]; e.Process == p && e.F == history.Crashed {
			return e.Time
		}
	}
	return history.Never
}

// Record adds an event to the history on behalf of p.
func (w *World) Record(p ProcessID, e history.Event) { w.record(p, &e) }

// record adds a copy of e to the history. Keep gets a pointer to that copy, because e itself would escape to the heap
// if Keep got a pointer to it.
func (w *World) record(p ProcessID, e *history.Event) {
	at := len(w.hist.Events)
	w.hist.Events = append(w.hist.Events, *e)
	kept := &w.hist.Events[at]
	kept.Index, kept.Time, kept.Process = at, w.now, p
	if w.opts.Keep != nil && !w.opts.Keep(kept) {
		w.hist.Events = w.hist.Events[:at]
		return
	}
	w.digestRecord(kept)
}

// RecordGrant adds a successful acquire or extend on behalf of a client. The lease ends by one of the clocks of the
// client's process.
func (w *World) RecordGrant(id ProcessID, e history.Event, g Grant) {
	e.Grant = &history.Grant{Since: g.Since.at, Granted: g.Granted.at, Counted: g.Counted}
	w.pending = append(w.pending, pendingDeadline{len(w.hist.Events), w.process(id), g.Until})
	w.record(id, &e)
}

func (w *World) fail(err error) {
	if w.err == nil {
		w.err = fmt.Errorf("%w (at %v, seed %d)", err, w.now, w.seed)
	}
}
