//go:build linux && amd64

package traced

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// An interpreter takes far longer to start than a run takes. Therefore the first process of a command is stopped at a
// checkpoint, right before it creates its first TCP socket or starts another process. Each run begins with a copy
// (fork) of this process. If the process has threads, they run until all of them wait. The copy gets the same threads,
// which then wait again, and open files of its own.
//
// If a copy cannot have such files, or if the threads do not come to rest, the process is started once more, and
// stopped before it creates its first thread or the first file that it keeps. For a process without a checkpoint, each
// run starts a new process. Up to its checkpoint, a process depends on nothing that differs from run to run: the random
// numbers that it gets are always the same.

// makers lists the calls that create an open file that copies of a process would share.
var makers = map[uint64]string{unix.SYS_SOCKETPAIR: "socketpair", unix.SYS_PIPE: "pipe", unix.SYS_PIPE2: "pipe2",
	unix.SYS_EPOLL_CREATE: "epoll_create", unix.SYS_EPOLL_CREATE1: "epoll_create1", unix.SYS_EVENTFD: "eventfd",
	unix.SYS_EVENTFD2: "eventfd2", unix.SYS_MEMFD_CREATE: "memfd_create",
	unix.SYS_TIMERFD_CREATE: "timerfd_create"}

// checkpoint is a process that is copied for each run.
type checkpoint struct {
	machine *Machine
	thread  *thread // the first thread; nil if the program has no checkpoint
	others  []saved // its other threads
	files   []heldFile
	printed int64 // number of bytes that it had printed
}

// approaching is the progress of a process on the way to its checkpoint.
type approaching struct {
	whole  bool // stop with threads and open files, which copies get too
	makers int  // number of makers called so far
	stop   int  // number of the call in makers at which the process must stop; 0: at none
	clean  int  // number of the last call in makers before which the process had no open files
}

// arrives reports whether a thread has reached the call at which its process must stop.
func (a *approaching) arrives(t *thread) bool {
	switch nr := t.regs.Orig_rax; nr {
	case unix.SYS_SOCKET:
		return t.regs.Rdi != unix.AF_UNIX
	case unix.SYS_CLONE, unix.SYS_CLONE3:
		return !a.whole || !t.startsThread()
	case unix.SYS_FORK, unix.SYS_VFORK:
		return true
	case unix.SYS_CONNECT:
		return !a.whole // in whole mode, no TCP socket exists yet, and others connect to nothing
	default:
		if a.whole || makers[nr] == "" && !t.opensSharedFile() {
			return false
		}
	}
	a.makers++
	if t.p.holdsNothing() && !t.p.sharesMemory() {
		a.clean = a.makers
	}
	return a.makers == a.stop
}

// startsThread reports whether the clone at whose entry a thread has stopped starts a thread. If it would start a
// process by clone3, which is not modeled, startsThread returns true as well.
func (t *thread) startsThread() bool {
	return t.regs.Orig_rax == unix.SYS_CLONE3 || t.regs.Rdi&unix.CLONE_THREAD != 0
}

// key returns a text that identifies a command among those of a tracer.
func (c *Command) key() string {
	return strings.Join(slices.Concat([]string{c.Name, c.Path, c.Dir, c.Scratch}, c.Args, []string{""}, c.Env), "\x00")
}

// startOrCopy starts a process. If the command has a checkpoint, the process is a copy of it.
func (m *Machine) startOrCopy(c Command) (*Process, error) {
	key := strconv.Itoa(len(m.processes)) + c.key()
	at := m.checkpoints[key]
	if at == nil {
		var err error
		if at, err = m.toCheckpoint(c, &approaching{whole: true}); err == nil && at.thread == nil {
			at, err = m.toCheckpoint(c, &approaching{})
		}
		if err != nil {
			return nil, err
		}
		m.checkpoints[key] = at
	}
	if at.thread == nil {
		return m.start(c)
	}
	p, err := m.copied(at)
	if err == nil || len(at.others)+len(at.files) == 0 {
		return p, err
	}
	if p != nil { // the kernel does not allow such a copy: do without
		p.Kill()
		m.processes = m.processes[:len(m.processes)-1]
	}
	at.machine.close()
	if m.checkpoints[key], err = m.toCheckpoint(c, &approaching{}); err != nil {
		return nil, err
	}
	return m.startOrCopy(c)
}

// mostApproach is the maximum virtual time that a process may take to reach its checkpoint.
const mostApproach = time.Minute

// toCheckpoint runs the first process of a command until it reaches its checkpoint.
func (m *Machine) toCheckpoint(c Command, way *approaching) (*checkpoint, error) {
	first := m.Tracer.New(Options{Network: nowhere{}, Wall: m.options.Wall})
	first.way, first.first = way, len(m.processes)
	at := &checkpoint{machine: first}
	p, err := first.start(c)
	if err != nil {
		if p != nil {
			p.Kill()
		}
		return nil, err
	}
	err = first.Run(mostApproach, func() bool { return first.frozen != nil || p.ended })
	if err == nil && first.frozen != nil && !p.sharesMemory() {
		switch {
		case way.whole && at.saves(p):
			return at, nil
		case !way.whole && len(p.threads) == 1 && p.holdsNothing():
			at.saves(p)
			return at, nil
		}
	}
	first.close()
	if first.busied { // the process would compute without end again
		return nil, err
	}
	if way.stop == 0 && way.clean > 0 {
		return m.toCheckpoint(c, &approaching{stop: way.clean})
	}
	return at, nil // if something is wrong with the program, its runs will report it
}

// mostRest is the maximum virtual time that the threads of a process may take until all of them wait.
const mostRest = time.Second

// saves stores what copies of the process need. It returns false if there cannot be copies.
func (at *checkpoint) saves(p *Process) bool {
	m := at.machine
	err := m.Run(m.Now()+mostRest, func() bool { return m.current == nil && len(m.runnable) == 0 || p.ended })
	if err != nil || p.ended || len(m.runnable) > 0 || len(p.members) > 1 || len(p.timers) > 0 || len(p.conns) > 0 ||
		len(p.shared) > 0 {
		return false
	}
	if at.files, err = p.held(); err != nil || p.allowsCopying() != nil {
		return false
	}
	for _, t := range p.threads {
		if t.name == "exit" || p.signals(t.tid).pending != 0 {
			return false
		}
		if t == p.threads[0] {
			continue
		}
		s, err := t.saves()
		if err != nil {
			return false
		}
		at.others = append(at.others, s)
	}
	var st unix.Stat_t
	unix.Fstat(p.output, &st)
	at.thread, at.printed = p.threads[0], st.Size
	return true
}

// holdsNothing reports whether the only open files of a process are those that it was given.
func (p *Process) holdsNothing() bool {
	files, err := os.ReadDir("/proc/" + strconv.Itoa(p.pid) + "/fd")
	return err == nil && len(files) <= 3
}

// copied starts a copy of a process that has stopped at its checkpoint, at the entry of a call.
func (m *Machine) copied(from *checkpoint) (*Process, error) {
	z := from.thread
	entry := z.regs
	r := entry
	r.Orig_rax, r.Rax = unix.SYS_CLONE, unix.SYS_CLONE
	r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8 = unix.CLONE_PARENT|uint64(unix.SIGCHLD), 0, 0, 0, 0
	if err := errors.Join(unix.PtraceSetRegs(z.tid, &r), unix.PtraceCont(z.tid, 0)); err != nil {
		return nil, fmt.Errorf("its checkpoint: %w", err)
	}
	st, err := wait(z.tid)
	if err != nil || event(st) != unix.PTRACE_EVENT_FORK && event(st) != unix.PTRACE_EVENT_CLONE {
		return nil, fmt.Errorf("its checkpoint could not be copied (status %#x): %w", uint32(st), err)
	}
	pid, err := unix.PtraceGetEventMsg(z.tid)
	if err != nil {
		return nil, err
	}
	if _, err := wait(int(pid)); err != nil {
		return nil, err
	}
	// the original and the copy execute the instruction of the call again
	if err := z.returns(again(entry)); err != nil {
		return nil, fmt.Errorf("its checkpoint could not be resumed: %w", err)
	}
	if err := unix.PtraceSetRegs(int(pid), again(entry)); err != nil {
		return nil, err
	}
	return m.adopts(from, int(pid))
}

// returns brings a checkpoint back to the entry of its call after it has been copied.
func (t *thread) returns(again *unix.PtraceRegs) error {
	unix.PtraceSyscall(t.tid, 0)
	if _, err := wait(t.tid); err != nil {
		return err
	}
	if err := errors.Join(unix.PtraceSetRegs(t.tid, again), unix.PtraceCont(t.tid, 0)); err != nil {
		return err
	}
	st, err := wait(t.tid)
	if err == nil && event(st) != unix.PTRACE_EVENT_SECCOMP {
		err = fmt.Errorf("status %#x", uint32(st))
	}
	return errors.Join(err, unix.PtraceGetRegs(t.tid, &t.regs))
}

// adopts makes a copy of a checkpoint a process of the machine.
func (m *Machine) adopts(from *checkpoint, pid int) (*Process, error) {
	z := from.thread
	p := m.process(z.p.command, pid)
	p.output, p.copied, p.lastID, p.refused = z.p.output, true, z.p.lastID, slices.Clone(z.p.refused)
	p.replaced, p.knows, p.alarm = z.p.replaced, slices.Clone(z.p.knows), z.p.alarm
	p.rand = rand.New(rand.NewPCG(p.rand.Uint64(), 2)) // other random numbers than those that the checkpoint has used
	t := &thread{p: p, tid: pid, id: z.id, began: z.began}
	p.threads = []*thread{t}
	m.processes = append(m.processes, p)
	m.runnable = append(m.runnable, t)
	files := filesOf{pid: pid, spare: z.regs.Rsp - 256}
	if err := files.restore(from.files); err != nil {
		return p, err
	}
	for i := range from.others {
		s := &from.others[i]
		tid, err := copyThread(pid, s)
		if err != nil {
			return p, fmt.Errorf("a thread of its checkpoint could not be copied: %w", err)
		}
		t := &thread{p: p, tid: tid, id: s.thread.id, began: s.thread.began}
		p.threads = append(p.threads, t)
		m.runnable = append(m.runnable, t)
	}
	m.now = max(m.now, from.machine.now)
	unix.Ftruncate(p.output, from.printed)
	var err error
	p.handle, err = unix.PidfdOpen(pid, 0)
	return p, err
}

// nowhere is the network of a process that has not reached its checkpoint yet. It makes no connections.
type nowhere struct{}

func (nowhere) Dialled(c *Conn)     { c.Refuse(false) }
func (nowhere) Wrote(*Conn, []byte) {}
func (nowhere) Closed(*Conn)        {}
func (nowhere) Exited(*Process)     {}
