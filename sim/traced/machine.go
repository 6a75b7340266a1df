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

// Machine runs the processes of a single run.
type Machine struct {
	options   Options
	now       int64 // virtual time in ns
	until     int64 // virtual time at which Run ends
	stop      func() bool
	rand      *rand.Rand
	processes []*Process
	runnable  []*thread
	current   *thread // the thread whose turn has not ended yet
	turn      int64   // when that turn began
	waits     uint64  // number of waits that have begun so far
	err       error
	conns     map[uint64]*Conn // connections by the inode of the process's socket
	ports     int              // number of connections so far
	frozen    *thread          // the thread that has reached its checkpoint
	way       *approaching     // progress to a checkpoint, if the machine makes one
	first     int              // number of the machine's first process
	busied    bool             // a process has computed without end
	*Tracer
}

// Tracer contains the state shared by all machines on one thread.
type Tracer struct {
	busy        time.Duration
	page        *[3]int64
	pageFD      int
	listener    int // the socket to which the processes' sockets are connected
	address     unix.SockaddrUnix
	watch       *watchdog
	checkpoints map[string]*checkpoint // checkpoints by command
}

// NewTracer returns a Tracer, which creates machines on the calling thread. The calling goroutine must be locked to
// this thread. number chooses the CPU on which the machines and their processes run. Consecutive numbers choose
// consecutive CPUs and wrap around after the last one; the CPU for number 0 depends on the ID of the calling process.
// limit is how much CPU time a thread may use without making a modeled system call; 0 means 4 s.
func NewTracer(number int, limit time.Duration) (t *Tracer, err error) {
	t = &Tracer{busy: cmp.Or(limit, 4*time.Second), pageFD: -1, listener: -1, checkpoints: map[string]*checkpoint{}}
	if t.pageFD, t.page, err = sharedPage(); err != nil {
		return nil, err
	}
	if err = t.listen(); err != nil {
		t.Close()
		return nil, err
	}
	t.watch = newWatchdog(t.busy)
	quietStops()
	pin(number)
	return t, nil
}

// Close ends all remaining processes. After that, the tracer and its machines cannot be used.
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

// New returns a machine with no processes, at time 0. Only one of a tracer's machines may be in use at a time.
func (t *Tracer) New(o Options) *Machine {
	return &Machine{options: o, rand: rand.New(rand.NewPCG(o.Seed, 1)), conns: map[uint64]*Conn{}, Tracer: t}
}

// pin keeps the calling thread, and all processes that it starts, on a single CPU, since only one of them runs at a
// time.
func pin(worker int) {
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(unix.Getpid(), &allowed) != nil || allowed.Count() == 0 {
		return
	}
	nth := (worker + unix.Getpid()) % allowed.Count() // so that searches at the same time share the processors
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

// Close kills all processes.
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

// slice is how long a thread may keep running while other threads can run, in ns of virtual time.
const slice = 1_000_000

// Run lets the processes run until the given time. It calls stop after each modeled system call, and returns early if
// stop returns true. If no process can run before then, it advances virtual time to the given time. An error means that
// a program did something that ended the run.
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
			m.chooseNext()
		}
		if t := m.current; t != nil {
			m.run(t)
			continue
		}
		m.now = min(m.deadline(), m.until)
	}
	return m.err
}

func (m *Machine) chooseNext() {
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

// othersCanRun reports whether another thread could run now.
func (m *Machine) othersCanRun() bool {
	return slices.ContainsFunc(m.runnable, func(t *thread) bool { return t.p.paused == 0 })
}

// deadline returns the earliest time at which a blocked thread stops waiting or a timer fires, if nothing happens
// earlier.
func (m *Machine) deadline() int64 {
	at := int64(math.MaxInt64)
	for _, p := range m.processes {
		if p.ended || p.paused > 0 {
			continue
		}
		for _, o := range p.members {
			for _, t := range o.threads {
				if b := t.blocked; b != nil && b.timed {
					at = min(at, t.due(m.now))
				}
			}
			if o.alarm.armed && !o.ended {
				at = min(at, o.due(false, o.alarm.at, m.now))
			}
			for _, x := range o.created {
				if due, runs := x.due(); runs {
					at = min(at, due)
				}
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

// due returns the time at which a blocked thread's wait ends.
func (t *thread) due(now int64) int64 { return t.p.due(t.blocked.wall, t.blocked.at, now) }

// due returns the virtual time at which one of the process's clocks will reach the value of at. If wall is set, at is a
// time on the wall clock. Otherwise, it is the time since time 0, as measured by the process's clocks.
func (p *Process) due(wall bool, at, now int64) int64 {
	if wall {
		at -= p.clock.wall
	}
	return p.clock.reached(min(at, p.clock.advance(now)+farthest), now)
}

// wake unblocks the threads whose wait has ended.
func (m *Machine) wake() {
	for _, p := range m.processes {
		if p.ended || p.paused > 0 {
			continue
		}
		for _, o := range p.members {
			for _, t := range o.threads {
				if b := t.blocked; b != nil && b.timed && t.due(m.now) <= m.now {
					b.ready(true)
					t.goesOn()
				}
			}
		}
		for _, x := range p.timers {
			x.expires()
		}
		for _, o := range slices.Clone(p.members) {
			o.rings()
			for _, x := range o.created {
				x.expires()
			}
		}
	}
}

// advance moves virtual time forward by the duration of a modeled system call. local is this duration in ns, as
// measured by p's clock.
func (m *Machine) advance(p *Process, local int64) {
	if local > 0 {
		m.now = p.clock.reached(p.clock.advance(m.now)+local, m.now)
	}
}

// fail ends the run because of something that a program did.
func (m *Machine) fail(t *thread, call, problem string) {
	if m.err == nil {
		m.err = &ProgramError{Process: t.p.command.Name, Thread: t.id, Call: call, Problem: problem}
	}
}

// busyProblem describes a thread that computes without making any system call at which it could be interrupted.
const busyProblem = "has used %v of processor time without making a system call or reading a clock: " +
	"in virtual time, nothing else can run meanwhile. If it waits for another thread, make it sleep in its loop"

// errClosed is the error for using a machine after Close.
var errClosed = errors.New("traced: the machine is closed")

// watchdog kills a process that computes endlessly. It is the only part of the package that uses the host's clock.
type watchdog struct {
	pid   atomic.Int64 // number of the process that is running; 0: none
	turns atomic.Int64 // number of times that a process was allowed to run
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

// look kills the running process if it uses more CPU time between two stops than the limit allows. It checks this at
// regular intervals.
func (w *watchdog) look(limit time.Duration) {
	every := time.NewTicker(limit / 10)
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
		if used-from > limit && w.turns.Load() == turn {
			w.fired.Store(true)
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// processorTime returns the CPU time that a process has used, or 0 if it is not known.
func processorTime(pid int) time.Duration {
	var ts unix.Timespec
	const ofProcess = 2
	if pid == 0 || unix.ClockGettime(int32(^pid)<<3|ofProcess, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
