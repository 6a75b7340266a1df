package sim

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Process is a client or a server. It has its own clocks, and all of its code pauses and crashes together.
type Process struct {
	w      *World
	id     ProcessID
	index  int
	clock  clock
	stream Stream // used only by clients
	// paused is the number of pauses that have not ended.
	paused int
	// held contains the process's events that came due while it was paused, in order. It is empty unless paused > 0.
	held []event
	// clockMoved means that a server's clock has changed and the server has not been notified yet because it is paused.
	clockMoved bool
	down       bool
	// life is how many times the server has started. Timers and connections created before the latest start are
	// invalid.
	life   uint64
	server Server
	off    Stop // how the last life ended; it determines what happens to requests while the server is down
	timers []*timer
	tasks  []*task
	main   *task // a client's main task; it may have started the other tasks
	conns  []*conn
	// latest is the index in conns of the most recently used connection.
	latest int
	points []pointCount
	// outside, if set, is the process on the host that this simulated process represents.
	outside Outside
}

// pointCount is how many times the process has passed a point. Normally, only points at which a fault is to be injected
// are counted. During a Watch, all points are.
type pointCount struct {
	point  Point
	passed int
	// strikes lists the faults to inject at this point, in plan order.
	strikes []strike
}

type strike struct {
	nth int
	f   func()
}

// holds reports whether the process is paused. If so, it stores the event until the pause ends.
func (p *Process) holds(who actor, arg uint64) bool {
	if p.paused == 0 {
		if p.w.watch != nil {
			p.w.watchAct(p)
		}
		return false
	}
	p.held = append(p.held, event{who: who, arg: arg})
	return true
}

// program returns the program on the host that this process represents, or nil if there is none.
func (p *Process) program() Pauser {
	if p.outside != nil {
		return p.outside
	}
	s, _ := p.server.(Pauser)
	return s
}

// resume ends a pause and executes the held events in order.
func (p *Process) resume() {
	if program := p.program(); program != nil {
		program.Resume()
	}
	p.notifyClock()
	if _, loops := p.server.(EventLoop); loops {
		p.readInTurn()
	} else if p.server == nil {
		p.sortHeld()
	}
	for _, e := range p.held {
		p.w.schedule(p.w.now, e.who, e.arg)
	}
	clear(p.held)
	p.held = p.held[:0]
}

func (p *Process) boot() {
	p.down = false
	p.life++
	p.server.Start(p)
}

// stopTasks unwinds all tasks except the one that is running. That task has just crashed at one of its points, and
// unwinds itself.
func (p *Process) stopTasks() {
	p.down = true
	for _, t := range p.tasks {
		if t != p.w.running && !t.done {
			t.done = true
			if t.co != nil {
				t.co.resume() // the task notices that its process has crashed, and unwinds
			}
		}
	}
	p.tasks = p.tasks[:0]
}

// The methods below implement Host, the interface for server programs.

// Name returns the process's name.
func (p *Process) Name() history.Process { return p.id }

// Wall reads the wall clock, in ns since the Unix epoch.
func (p *Process) Wall() int64 { return p.clock.wall(p.w.now) }

// Monotonic reads the monotonic clock.
func (p *Process) Monotonic() time.Duration { return time.Duration(p.clock.monotonic(p.w.now)) }

// Rate returns the clocks' rate error in parts per million; negative means slow.
func (p *Process) Rate() int64 { return p.clock.last().ppm }

// Rand returns 64 random bits that depend only on the seed, the process, the purpose and the key.
func (p *Process) Rand(purpose string, key Key) uint64 {
	return mix(hashString(hashString(mix(p.w.seed), string(p.id)), purpose) + uint64(key))
}

// Due returns the true time at which d will have passed if the clock is accurate.
func (p *Process) Due(d time.Duration) Time { return p.w.now + Time(d) }

// Record adds an event to the history.
func (p *Process) Record(e history.Event) { p.w.record(p.id, &e) }

// WakeAtWall sets a timer on the wall clock. The timer is canceled if the clock jumps or its rate changes.
func (p *Process) WakeAtWall(at int64, tag uint64) {
	p.setTimer(Wall, p.clock.monotonic(p.w.now)+at-p.clock.wall(p.w.now), tag)
}

// WakeAfter sets a timer on the monotonic clock.
func (p *Process) WakeAfter(d time.Duration, tag uint64) {
	p.setTimer(Monotonic, p.clock.monotonic(p.w.now)+min(int64(d), farthest), tag)
}

func (p *Process) setTimer(kind ClockKind, mono int64, tag uint64) {
	t := &timer{p: p, kind: kind, life: p.life, mono: mono, tag: tag}
	p.timers = append(p.timers, t)
	t.arm()
}

// timer is a timer that a server program has set.
type timer struct {
	p     *Process
	kind  ClockKind
	life  uint64
	mono  int64 // reading of the monotonic clock at which it is due
	tag   uint64
	armed uint64 // how many times it was armed; events of earlier armings are obsolete
	void  bool
}

func (t *timer) arm() {
	t.armed++
	left := max(t.mono-t.p.clock.monotonic(t.p.w.now), 0)
	t.p.w.schedule(t.p.w.now+t.p.clock.trueWait(left), t, t.armed)
}

func (t *timer) act(arg uint64) {
	p := t.p
	if t.void || arg != t.armed || t.life != p.life || p.down || p.holds(t, arg) {
		return
	}
	t.void = true
	p.dropVoidTimers()
	p.w.digest.word(uint64(p.w.now) ^ uint64(p.index)<<56 ^ t.tag)
	p.server.Wake(t.tag)
}

func (p *Process) dropVoidTimers() {
	p.timers = slices.DeleteFunc(p.timers, func(t *timer) bool { return t.void })
}

// clockChanged cancels the wall-clock timers; the server can set them again. If rate is true, the clocks' rate has
// changed, and clockChanged also adjusts the timers and waits on the monotonic clock.
func (p *Process) clockChanged(rate bool) {
	for _, t := range p.timers {
		switch {
		case t.kind == Wall:
			t.void = true
		case rate:
			t.arm()
		}
	}
	p.dropVoidTimers()
	if rate {
		for _, t := range p.tasks {
			t.rearm()
		}
	}
	p.clockMoved = true
	p.notifyClock()
}

// notifyClock tells the server that its clock has changed. If the server is paused, it is told when the pause ends.
func (p *Process) notifyClock() {
	if p.clockMoved && p.paused == 0 {
		p.clockMoved = false
		if p.server != nil && !p.down {
			p.server.ClockChanged()
		}
	}
}
