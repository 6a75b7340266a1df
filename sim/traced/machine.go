//go:build linux && amd64

package traced

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Machine runs the processes of one run.
type Machine struct {
	options   Options
	now       int64 // virtual time in ns
	until     int64 // where Run ends
	stop      func() bool
	rand      *rand.Rand
	processes []*Process
	runnable  []*thread
	current   *thread // in the midst of its turn
	turn      int64   // when its turn began
	waits     uint64  // numbers the beginnings of waits
	err       error
	conns     map[uint64]*Conn // by the inode of the process's socket
	ports     int              // number of connections so far
	frozen    *thread          // stands at its checkpoint
	way       *approaching     // to a checkpoint, if the machine makes one
	first     int              // number of its first process
	busied    bool             // a process has computed without end
	*Tracer
}

// Tracer is what the machines of one thread share.
type Tracer struct {
	busy        time.Duration
	page        *[3]int64
	pageFD      int
	listener    int // what the processes' sockets are connected to
	address     unix.SockaddrUnix
	watch       *watchdog
	checkpoints map[string]*checkpoint // by the command
}

// NewTracer returns what makes machines on the calling thread. The calling goroutine must be locked to it. number
// chooses the processor on which the machines and their processes run: that with this number among those that are
// allowed, counted round. busy is how much processor time a thread may use without a modelled call; 0 means 4 s.
func NewTracer(number int, busy time.Duration) (t *Tracer, err error) {
	t = &Tracer{busy: cmp.Or(busy, 4*time.Second), pageFD: -1, listener: -1, checkpoints: map[string]*checkpoint{}}
	if t.pageFD, t.page, err = sharedPage(); err != nil {
		return nil, err
	}
	if err = t.listen(); err != nil {
		t.Close()
		return nil, err
	}
	t.watch = newWatchdog(t.busy)
	pin(number)
	return t, nil
}

// Close ends what is left of the processes. Nothing of the tracer can be used any more.
func (t *Tracer) Close() {
	for _, c := range t.checkpoints {
		c.machine.close()
	}
	for _, fd := range []int{t.pageFD, t.listener} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	unmap(t.page)
	t.watch.close()
}

// New returns a machine without processes, at time 0. The tracer's machines must be used one after the other.
func (t *Tracer) New(o Options) *Machine {
	return &Machine{options: o, rand: rand.New(rand.NewPCG(o.Seed, 1)), conns: map[uint64]*Conn{}, Tracer: t}
}

// pin keeps the calling thread, and all processes that it starts, on one processor: one of them runs at a time.
func pin(worker int) {
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(unix.Getpid(), &allowed) != nil || allowed.Count() == 0 {
		return
	}
	nth := worker % allowed.Count()
	for cpu := 0; ; cpu++ {
		if !allowed.IsSet(cpu) {
			continue
		}
		if nth--; nth < 0 {
			var one unix.CPUSet
			one.Set(cpu)
			unix.SchedSetaffinity(0, &one)
			return
		}
	}
}

// Now returns the virtual time.
func (m *Machine) Now() time.Duration { return time.Duration(m.now) }

// Close ends all processes.
func (m *Machine) Close() {
	m.err = errClosed
	m.close()
}

func (m *Machine) close() {
	for _, p := range m.processes {
		p.Kill()
		if p.output >= 0 && !p.copied {
			unix.Close(p.output)
		}
		p.output = -1
	}
}

// slice is for how long a thread may run on while others can run, in virtual ns.
const slice = 1_000_000

// Run lets the processes run until the given time, or until stop returns true, which it is asked after each modelled
// call. When nothing can run any more, the time is until. The error, if any, is that of a program, and ends the run.
func (m *Machine) Run(until time.Duration, stop func() bool) error {
	m.until, m.stop = int64(until), stop
	for m.err == nil {
		if m.stop() {
			return nil
		}
		m.wake()
		if m.now >= m.until {
			return m.err
		}
		if m.current == nil {
			m.next()
		}
		if t := m.current; t != nil {
			m.run(t)
			continue
		}
		m.now = min(m.deadline(), m.until)
	}
	return m.err
}

// next chooses the thread that runs.
func (m *Machine) next() {
	var can []int
	for i, t := range m.runnable {
		if t.p.paused == 0 {
			can = append(can, i)
		}
	}
	if len(can) == 0 {
		return
	}
	at := can[0]
	if len(can) > 1 {
		at = can[m.rand.IntN(len(can))]
	}
	m.current, m.turn = m.runnable[at], m.now
	m.runnable = slices.Delete(m.runnable, at, at+1)
}

// others reports whether another thread could run now.
func (m *Machine) others() bool {
	return slices.ContainsFunc(m.runnable, func(t *thread) bool { return t.p.paused == 0 })
}

// deadline returns when the next blocked thread is due, if nothing happens before.
func (m *Machine) deadline() int64 {
	at := int64(math.MaxInt64)
	for _, p := range m.processes {
		if p.ended || p.paused > 0 {
			continue
		}
		for _, t := range p.threads {
			if b := t.blocked; b != nil && b.timed {
				at = min(at, t.due(m.now))
			}
		}
		for _, x := range p.timers {
			if due, runs := x.due(); runs {
				at = min(at, due)
			}
		}
	}
	return at
}

// due returns when the wait of a blocked thread ends.
func (t *thread) due(now int64) int64 { return t.p.due(t.blocked.wall, t.blocked.at, now) }

// due returns when the wall clock of the process shows at, or when its clocks have advanced by at.
func (p *Process) due(wall bool, at, now int64) int64 {
	if wall {
		at -= p.clock.wall
	}
	return p.clock.reached(min(at, p.clock.advance(now)+farthest), now)
}

// wake lets the threads go on whose wait is over.
func (m *Machine) wake() {
	for _, p := range m.processes {
		if p.ended || p.paused > 0 {
			continue
		}
		for _, t := range p.threads {
			b := t.blocked
			if b == nil || !b.timed || t.due(m.now) > m.now {
				continue
			}
			b.ready(true)
			t.goesOn()
		}
		for _, x := range p.timers {
			x.expires()
		}
	}
}

// advance lets the time of a modelled call pass for a process.
func (m *Machine) advance(p *Process, local int64) {
	if local > 0 {
		m.now = p.clock.reached(p.clock.advance(m.now)+local, m.now)
	}
}

// fail ends the run because of what a program does.
func (m *Machine) fail(t *thread, call, problem string) {
	if m.err == nil {
		m.err = &ProgramError{Process: t.p.command.Name, Thread: t.id, Call: call, Problem: problem}
	}
}

// busyProblem is what a thread does that is not interrupted.
const busyProblem = "has computed for %v of processor time without a system call or a look at a clock: in virtual " +
	"time, nothing else can run meanwhile. If it waits for another thread, let it sleep in its loop"

// errClosed is the error of a machine that is used after Close.
var errClosed = errors.New("traced: the machine is closed")

// watchdog kills a process that computes without end. It is the only thing that looks at the host's clock.
type watchdog struct {
	pid   atomic.Int64 // of the process that runs; 0: none
	turns atomic.Int64 // number of times that a process was let run
	fired atomic.Bool
	done  chan struct{}
}

func newWatchdog(most time.Duration) *watchdog {
	w := &watchdog{done: make(chan struct{})}
	go w.look(most)
	return w
}

func (w *watchdog) close() {
	if w != nil {
		close(w.done)
	}
}

// look compares the processor time of the process that runs with that at the last look.
func (w *watchdog) look(most time.Duration) {
	every := time.NewTicker(most / 10)
	defer every.Stop()
	var turn int64
	var from time.Duration
	for {
		select {
		case <-w.done:
			return
		case <-every.C:
		}
		now, pid := w.turns.Load(), int(w.pid.Load())
		used := processorTime(pid)
		if now != turn || pid == 0 {
			turn, from = now, used
			continue
		}
		if used-from > most && w.turns.Load() == turn {
			w.fired.Store(true)
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// processorTime returns the processor time that a process has used; 0 if it is not known.
func processorTime(pid int) time.Duration {
	var ts unix.Timespec
	const ofProcess = 2
	if pid == 0 || unix.ClockGettime(int32(^pid)<<3|ofProcess, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
