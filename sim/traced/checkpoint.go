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
// checkpoint, right before it creates its first TCP socket or thread. Each run begins with a copy (fork) of this
// process. Copies would share open files with each other, such as an epoll instance, so the process must have no open
// files at that point. If it has some, it is started once more, and stopped before it creates the first file that it
// keeps. For a process without a checkpoint, each run starts a new process. Up to its checkpoint, a process depends on
// nothing that differs from run to run: the random numbers that it gets are always the same.

// makers lists the calls that create an open file that copies of a process would share.
var makers = map[uint64]string{unix.SYS_SOCKETPAIR: "socketpair", unix.SYS_PIPE: "pipe", unix.SYS_PIPE2: "pipe2",
	unix.SYS_EPOLL_CREATE: "epoll_create", unix.SYS_EPOLL_CREATE1: "epoll_create1", unix.SYS_EVENTFD: "eventfd",
	unix.SYS_EVENTFD2: "eventfd2", unix.SYS_MEMFD_CREATE: "memfd_create",
	unix.SYS_TIMERFD_CREATE: "timerfd_create"}

// checkpoint is a process that is copied for each run.
type checkpoint struct {
	machine *Machine
	thread  *thread // nil if the program has no checkpoint
	printed int64   // number of bytes that it had printed
}

// approaching is the progress of a process on the way to its checkpoint.
type approaching struct {
	makers int // number of makers called so far
	stop   int // number of the call in makers at which the process must stop; 0: at none
	clean  int // number of the last call in makers before which the process had no open files
}

// arrives reports whether a thread has reached the call at which its process must stop.
func (a *approaching) arrives(t *thread) bool {
	switch nr := t.regs.Orig_rax; nr {
	case unix.SYS_SOCKET:
		return t.regs.Rdi != unix.AF_UNIX
	case unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_CONNECT:
		return true
	default:
		if makers[nr] == "" && !t.opensSharedFile() {
			return false
		}
	}
	a.makers++
	if t.p.holdsNothing() && !t.p.sharesMemory() {
		a.clean = a.makers
	}
	return a.makers == a.stop
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
		if at, err = m.toCheckpoint(c, &approaching{}); err != nil {
			return nil, err
		}
		m.checkpoints[key] = at
	}
	if at.thread == nil {
		return m.start(c)
	}
	return m.copied(at)
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
	if t := first.frozen; err == nil && t != nil && len(p.threads) == 1 && p.holdsNothing() && !p.sharesMemory() {
		var st unix.Stat_t
		unix.Fstat(p.output, &st)
		at.thread, at.printed = t, st.Size
		return at, nil
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
	again := entry // the original and the copy execute the instruction of the call again
	again.Rip -= 2
	again.Rax, again.Orig_rax = entry.Orig_rax, ^uint64(0)
	if err := z.returns(&again); err != nil {
		return nil, fmt.Errorf("its checkpoint could not be resumed: %w", err)
	}
	if err := unix.PtraceSetRegs(int(pid), &again); err != nil {
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
	m.now = max(m.now, from.machine.now)
	unix.Ftruncate(p.output, from.printed)
	var err error
	if p.handle, err = unix.PidfdOpen(pid, 0); err != nil {
		return p, err
	}
	m.runnable = append(m.runnable, t)
	return p, nil
}

// nowhere is the network of a process that has not reached its checkpoint yet. It makes no connections.
type nowhere struct{}

func (nowhere) Dialled(c *Conn)     { c.Refuse(false) }
func (nowhere) Wrote(*Conn, []byte) {}
func (nowhere) Closed(*Conn)        {}
func (nowhere) Exited(*Process)     {}
