package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Options are the properties of a world as a whole.
type Options struct {
	Delay Delay // delay of every message in each direction, unless Links says otherwise
	Tail  Tail  // the share of messages that are slow
	Links []LinkDelay
	// Onlooker, if set, is called with each message that a server sends unasked. It must not act on the world.
	Onlooker func(Sent)
	// Asked, if set, is called with each request that a server is about to serve. It must not act on the world, nor
	// keep the request.
	Asked func(server ProcessID, r *Incoming)
	// Command, if set, returns the name of a request's command for a Passage, given its arguments. In a run that is
	// inspected, it is called with each request, in the order of their departure. If it is nil, the name is the first
	// argument.
	Command func(args []string) string
	// Stacks, if set, holds the coroutines on which the tasks run.
	Stacks *Stacks
	// Nameless makes the digest depend only on which values and texts of clients and servers are equal, not on what
	// they are: clients may draw random values that no seed determines.
	Nameless bool
	// Wall is the time that every wall clock shows at the start, in ns since the Unix epoch; 0 means Epoch.
	Wall int64
	// Endless means that the run may last indefinitely: the total number of events is not limited, and nothing is kept
	// of what is over. Delays are then drawn by the number of messages sent, so that the run cannot be repeated.
	Endless bool
	// Keep, if set, is called with each event before it is recorded, may change it, and returns whether to record it.
	// It must keep the events of clients.
	Keep func(e *history.Event) bool
}

// Tail describes the slow messages of a network: PPM of a million messages have Delay instead of the link's delay.
type Tail struct {
	PPM   int64 // 0 to 1,000,000
	Delay Delay
}

// Delay is a range from which a message's travel time is drawn uniformly; with Lo == Hi the delay is fixed.
type Delay struct{ Lo, Hi time.Duration }

// pick chooses a time from the range, by 64 random bits.
func (d Delay) pick(bits uint64) Time {
	return Time(d.Lo) + Time(bits%uint64(d.Hi-d.Lo+1))
}

// LinkDelay sets the delay of messages from one process to another.
type LinkDelay struct {
	From, To ProcessID
	Delay    Delay
}

// eventLimit ends a run with too many events; ordinary runs have some thousands. instantLimit ends a run in which time
// does not go on; ordinary instants have some dozens of events.
const (
	eventLimit   = 5_000_000
	instantLimit = 200_000
)

// errEndless reports a run with more events than any ordinary run, in total or at one instant.
var errEndless = errors.New("sim: the run has more than 5,000,000 events, or 200,000 at one instant: a period is too " +
	"short for so long a run, or some client loops without sleeping")

// World is one run. It may be reused for the next with Reset, which keeps allocated memory. It is not safe for
// concurrent use.
type World struct {
	seed     uint64
	opts     Options
	now      Time
	seq      uint64
	events   int
	before   int // number of events before this instant
	queue    queue
	procs    []*Process
	procSlab slab[Process]
	byName   map[ProcessID]*Process
	digest   Digest
	texts    map[string]uint64 // with Nameless: a number for each text that has entered the digest
	err      error
	hist     history.History
	pending  []pendingDeadline
	net      network
	stacks   *Stacks
	running  *task // the task that is running, if any
	watch    func(Moment)
	inspect  []func(Passage) Interference
	inTail   func(from, to ProcessID) // called for each message of the slow share
	onStop   func(id ProcessID, stopped bool)
	acting   uint64 // number of the current event
	early    uint64 // number of the last event that was scheduled before the watch began
}

// pendingDeadline is the end of a stated validity. It can be converted to true time only when the run is over and
// everything that happened to the clock is known.
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

// Reset ends the run, stops what is still running, and prepares an empty world. Histories of earlier runs become
// invalid.
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

// kill unwinds all coroutines; a coroutine that is never stopped would leak.
func (w *World) kill() {
	for _, p := range w.procs {
		p.stopTasks()
	}
}

// AddServer adds a server process; it starts at time zero, before any client.
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

// AddSuccessor adds a client that runs on the machine of an earlier client. It has that machine's clocks, with
// everything that has happened to them.
func (w *World) AddSuccessor(id, of ProcessID, at Time, main func(Env)) {
	w.AddClient(id, at, main)
	p := w.process(id)
	p.clock.segments = append(p.clock.segments[:0], w.process(of).clock.segments...)
}

// BeginAgain ends everything that a client does, without a record, and closes its connections. A new main task starts
// at the given true time.
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

// Seed returns the seed of the run.
func (w *World) Seed() uint64 { return w.seed }

// Now returns the true time. Nothing that runs inside the world may see it.
func (w *World) Now() Time { return w.now }

// Mark returns a Mark for an instant of true time, for code that is not a task.
func (w *World) Mark(at Time) Mark { return Mark{at} }

// Time returns the instant of a mark, for code that is not a task.
func (w *World) Time(m Mark) Time { return m.at }

// Events returns the number of events that have happened.
func (w *World) Events() int { return w.events }

// Digest returns the running hash of everything that has happened.
func (w *World) Digest() Digest { return w.digest }

// SoFar returns the events recorded so far. They must not be changed, and are valid until the next event of the world.
func (w *World) SoFar() []history.Event { return w.hist.Events }

// OnTail sets a function that is called, for the rest of the run, for each message of the network's slow share, when it
// is sent.
func (w *World) OnTail(f func(from, to ProcessID)) { w.inTail = f }

// Err returns the first failure of client or server code, with its stack; the run stops there.
func (w *World) Err() error { return w.err }

// Stream returns the named random stream of this run.
func (w *World) Stream(name string) *Stream { return NewStream(w.seed, name) }

// At calls f at the given true time, or at once if that has passed.
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

// Step lets the next event happen.
func (w *World) Step() { w.StepLate(0) }

// StepLate lets the next event happen, at the given time if it was due earlier. The process can see by its clocks that
// the event is late.
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

// Advance lets time pass until at, which must not be after the next event, so that code that is not a task can act at
// that time.
func (w *World) Advance(at Time) {
	if next, ok := w.Next(); ok && at > next || at < w.now {
		panic("sim: time would pass over an event, or go back")
	}
	if at > w.now {
		w.before = w.events
		w.now = at
	}
}

// Run lets events happen until done (if not nil) returns true, until none is left, or until the next one is after
// limit. It reports whether the limit ended it.
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

// Busy reports whether a client still has work to do, or a message between a client and a server is under way. Messages
// among servers do not count, nor do messages that a cut holds back.
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

// Sent returns how many messages one process has sent another so far.
func (w *World) Sent(from, to ProcessID) int { return w.link(from, to).sent }

// Finish ends the run: it stops what is still running, converts all stated validities to true time, and returns the
// history, which stays valid until Reset.
func (w *World) Finish() *history.History {
	w.kill()
	for _, d := range w.pending {
		g := w.hist.Events[d.event].Grant
		g.Until, g.Open = history.Never, d.at.Open
		if d.at.At != Forever {
			g.Until = d.proc.clock.trueTime(d.at.Clock, int64(d.at.At), g.Granted)
		}
		if d.at.Announced != nil {
			g.Until = min(g.Until, *d.at.Announced, w.crash(d.proc.id, d.event))
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

// crash returns the time at which a process crashed after the event at a position, or history.Never. After a crash it
// receives no notifications.
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

// record adds a copy of e to the history. Keep gets a pointer to that copy, not to e: the compiler does not know what
// Keep does with its argument, so e would have to be allocated on the heap.
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

// RecordGrant adds an acquire ok or extend ok on behalf of a client. The validity ends on a clock of the client's
// process.
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
