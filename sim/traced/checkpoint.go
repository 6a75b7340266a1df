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

// An interpreter takes far longer to start than a run takes. Therefore, a command's first process is stopped at a
// checkpoint, and each run begins with a copy (fork) of it. The copy has its own open files. It has the same threads as
// the original, and they are waiting again. If the process has started other processes by then, they are copied, too.
//
// The checkpoint is right before the socket is created that will be connected first. To find this socket, the program
// is started twice: some programs, such as the Java virtual machine, also create sockets that they never connect, so
// only the first start shows which socket is connected first. The thread that is about to create the socket is stopped,
// and all other threads run until they are waiting.
//
// If the files cannot be copied, or if some threads never wait, the process is started again and stopped earlier:
// before it starts a thread or a process, or before it creates the first file that it keeps. If a process has no
// checkpoint, each run starts a new process.
//
// Until its checkpoint, a process sees the same things in all runs that share the checkpoint. In particular, its random
// numbers are the same for sharedBy consecutive seeds. A process often uses these numbers to seed a generator that it
// uses later.

// sharedBy is the number of seeds that share a checkpoint. Starting an interpreter takes as long as 5 to 15 runs.
const sharedBy = 256

// makers contains the names of the system calls that create pipes, timers and other files without opening a path.
// Copies of a process would share these files.
var makers = map[uint64]string{unix.SYS_SOCKETPAIR: "socketpair", unix.SYS_PIPE: "pipe", unix.SYS_PIPE2: "pipe2",
	unix.SYS_EPOLL_CREATE: "epoll_create", unix.SYS_EPOLL_CREATE1: "epoll_create1", unix.SYS_EVENTFD: "eventfd",
	unix.SYS_EVENTFD2: "eventfd2", unix.SYS_MEMFD_CREATE: "memfd_create",
	unix.SYS_TIMERFD_CREATE: "timerfd_create", unix.SYS_SIGNALFD: "signalfd", unix.SYS_SIGNALFD4: "signalfd4"}

// checkpoint holds processes that are copied for each run.
type checkpoint struct {
	machine *Machine
	block   uint64   // the seeds of its runs, divided by sharedBy
	members []member // the first one is the process of the program; empty if the program has no checkpoint
	printed int64    // number of bytes that the processes had printed
}

// member is a process at a checkpoint.
type member struct {
	process *Process
	others  []saved // the process's threads other than the first
	files   []heldFile
}

// approaching describes how close a process has come to its checkpoint.
type approaching struct {
	whole   bool // the checkpoint may have other processes, threads and open files, which are copied too
	sockets int  // number of sockets created so far
	socket  int  // if whole: number of the socket before which the process stops; 0: at the first connection
	dials   int  // number of the socket that the first connection is about to use; 0: there is no connection
	makers  int  // number of makers called so far
	stop    int  // number of the call in makers at which the process must stop; 0: at none
	clean   int  // number of the last call in makers before which the process had no open files
}

// arrives reports whether a thread has reached the system call at which its process must stop.
func (a *approaching) arrives(t *thread) bool {
	switch nr := t.regs.Orig_rax; nr {
	case unix.SYS_SOCKET:
		if t.regs.Rdi == unix.AF_UNIX {
			return false
		}
		a.sockets++
		return !a.whole || a.socket > 0 && a.sockets >= a.socket // other threads of the process may follow
	case unix.SYS_CONNECT:
		c, own := t.conn(t.regs.Rdi)
		if c != nil {
			unix.Close(own)
			a.dials = c.number
		}
		return !a.whole || c != nil
	case unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_FORK, unix.SYS_VFORK:
		return !a.whole
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

// key returns a string that identifies the command among a tracer's commands.
func (c *Command) key() string {
	return strings.Join(slices.Concat([]string{c.Name, c.Path, c.Dir, c.Scratch}, c.Args, []string{""}, c.Env), "\x00")
}

// block returns the number of the block of seeds that contains the run's seed. All seeds in a block share the same
// checkpoints.
func (m *Machine) block() uint64 { return m.options.Seed / sharedBy }

// startOrCopy starts a process. If the command has a checkpoint, it copies the checkpoint instead.
func (m *Machine) startOrCopy(c Command) (*Process, error) {
	key := strconv.Itoa(len(m.processes)) + c.key()
	at := m.checkpoints[key]
	if at == nil || at.block != m.block() {
		if at != nil {
			at.machine.close()
			delete(m.checkpoints, key)
		}
		var err error
		if at, err = m.toCheckpoint(c, &approaching{whole: true}); err == nil && len(at.members) == 0 {
			at, err = m.toCheckpoint(c, &approaching{})
		}
		if err != nil {
			return nil, err
		}
		m.checkpoints[key] = at
	}
	if len(at.members) == 0 {
		return m.start(c)
	}
	p, err := m.copied(at)
	if first := at.members[0]; err == nil || len(at.members)+len(first.others)+len(first.files) == 1 {
		return p, err
	}
	if p != nil { // the kernel does not allow such a copy: use an earlier checkpoint
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

// toCheckpoint runs a command's first process until it reaches its checkpoint.
func (m *Machine) toCheckpoint(c Command, way *approaching) (*checkpoint, error) {
	first := m.Tracer.New(Options{Seed: m.block(), Network: nowhere{}, Wall: m.options.Wall})
	first.way, first.first = way, len(m.processes)
	at := &checkpoint{machine: first, block: m.block()}
	p, err := first.start(c)
	if err != nil {
		if p != nil {
			p.Kill()
		}
		return nil, err
	}
	err = first.Run(mostApproach, func() bool { return first.frozen != nil || p.ended })
	if err == nil && way.whole && way.socket == 0 && way.sockets > 0 {
		first.close()
		return m.toCheckpoint(c, &approaching{whole: true, socket: max(way.dials, 1)})
	}
	alone := len(p.members) == 1 && len(p.threads) == 1 && p.holdsNothing()
	if err == nil && first.frozen != nil && (way.whole || alone) && at.saves(p) {
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

// mostRest is the maximum virtual time to wait until all threads of a process are blocked.
const mostRest = time.Second

// saves stores what is needed to copy p and the processes that it has started. It returns false if they cannot be
// copied.
func (at *checkpoint) saves(p *Process) bool {
	m := at.machine
	err := m.Run(m.Now()+mostRest, func() bool { return m.current == nil && len(m.runnable) == 0 || p.ended })
	if err != nil || len(m.runnable) > 0 || len(p.timers)+len(p.signalFiles)+len(p.conns)+len(p.shared) > 0 {
		return false
	}
	var members []member
	for _, o := range p.members {
		one, err := o.saves()
		if err != nil || slices.ContainsFunc(members, func(other member) bool { return one.sharesFile(other) }) {
			return false
		}
		members = append(members, one)
	}
	var st unix.Stat_t
	unix.Fstat(p.output, &st)
	at.members, at.printed = members, st.Size
	return true
}

// errUncopied is the error for a process that cannot be copied.
var errUncopied = errors.New("the process cannot be copied")

// saves returns what is needed to copy the process.
func (p *Process) saves() (one member, err error) {
	one.process = p
	if p.ended || p.lender != nil || p.sharesMemory() {
		return one, errUncopied
	}
	if one.files, err = p.openFiles(); err != nil {
		return one, err
	}
	if err := p.allowsCopying(); err != nil {
		return one, err
	}
	for _, t := range p.threads {
		if t.name == "exit" || p.signals(t.tid).pending != 0 {
			return one, errUncopied
		}
		if t == p.threads[0] {
			continue
		}
		s, err := t.saves()
		if err != nil {
			return one, err
		}
		one.others = append(one.others, s)
	}
	return one, nil
}

// holdsNothing reports whether a process has no open files except those that it was started with.
func (p *Process) holdsNothing() bool {
	files, err := os.ReadDir("/proc/" + strconv.Itoa(p.pid) + "/fd")
	return err == nil && len(files) <= 3
}

// copied starts a copy of each process in a checkpoint, and returns the copy of the first process.
func (m *Machine) copied(from *checkpoint) (p *Process, err error) {
	copies := map[*Process]*Process{}
	for i := range from.members {
		one := &from.members[i]
		pid, err := one.process.threads[0].copied()
		if err != nil {
			return p, err
		}
		var o *Process
		if p == nil {
			o = m.adopts(one.process, pid)
			p = o
		} else {
			o = p.adopts(one.process, pid, copies[one.process.parent])
		}
		copies[one.process] = o
		if err := o.completes(one); err != nil {
			return p, err
		}
	}
	m.now = max(m.now, from.machine.now)
	unix.Ftruncate(p.output, from.printed)
	return p, nil
}

// copied copies the process of a thread that has stopped at a checkpoint, just before a system call. Both the original
// and the copy then make this call. copied returns the copy's process ID on the host.
func (t *thread) copied() (pid int, err error) {
	entry := t.regs
	r := entry
	r.Orig_rax, r.Rax = unix.SYS_CLONE, unix.SYS_CLONE
	r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8 = unix.CLONE_PARENT|uint64(unix.SIGCHLD), 0, 0, 0, 0
	if err := errors.Join(unix.PtraceSetRegs(t.tid, &r), unix.PtraceCont(t.tid, 0)); err != nil {
		return 0, fmt.Errorf("its checkpoint: %w", err)
	}
	st, err := wait(t.tid)
	if err != nil || event(st) != unix.PTRACE_EVENT_FORK && event(st) != unix.PTRACE_EVENT_CLONE {
		return 0, fmt.Errorf("its checkpoint could not be copied (status %#x): %w", uint32(st), err)
	}
	number, err := unix.PtraceGetEventMsg(t.tid)
	if err != nil {
		return 0, err
	}
	if _, err := wait(int(number)); err != nil {
		return 0, err
	}
	if err := t.rewinds(repeating(entry)); err != nil {
		return 0, fmt.Errorf("its checkpoint could not be resumed: %w", err)
	}
	return int(number), unix.PtraceSetRegs(int(number), repeating(entry))
}

// rewinds takes a checkpoint's thread back to the point just before its system call. It is called after the thread's
// process has been copied.
func (t *thread) rewinds(again *unix.PtraceRegs) error {
	unix.PtraceSyscall(t.tid, 0)
	if _, err := wait(t.tid); err != nil {
		return err
	}
	return t.entersAgain(again)
}

// entersAgain makes a thread repeat an earlier system call. again contains the registers with which the thread made
// that call. The thread must be at the end of a system call. It stops just before it makes the earlier call again.
func (t *thread) entersAgain(again *unix.PtraceRegs) error {
	if err := errors.Join(unix.PtraceSetRegs(t.tid, again), unix.PtraceCont(t.tid, 0)); err != nil {
		return err
	}
	st, err := wait(t.tid)
	if err == nil && event(st) != unix.PTRACE_EVENT_SECCOMP {
		err = fmt.Errorf("status %#x", uint32(st))
	}
	return errors.Join(err, unix.PtraceGetRegs(t.tid, &t.regs))
}

// adopts adds a copy of a checkpoint's first process to the machine. pid is the copy's process ID on the host.
func (m *Machine) adopts(of *Process, pid int) *Process {
	p := m.process(of.command, pid)
	p.output, p.copied, p.refused = of.output, true, slices.Clone(of.refused)
	p.lastID, p.started, p.calls = of.lastID, of.started, of.calls
	p.group, p.session = of.group, of.session
	p.rand = rand.New(rand.NewPCG(p.rand.Uint64(), 2)) // not the random numbers that the checkpoint has used
	m.processes = append(m.processes, p)
	return p
}

// adopts adds to p's family a copy of another process from the checkpoint. parent is the process that counts as the
// copy's parent, and pid is the copy's process ID on the host.
func (p *Process) adopts(of *Process, pid int, parent *Process) *Process {
	o := &Process{family: p.family, pid: pid, handle: -1, id: of.id, output: -1,
		kin: kin{parent: parent, group: of.group, session: of.session}}
	p.members = append(p.members, o)
	return o
}

// completes gives a copied process its files and threads.
func (p *Process) completes(one *member) (err error) {
	of := one.process
	p.replaced, p.knows, p.alarm = of.replaced, slices.Clone(of.knows), of.alarm
	for _, x := range of.created {
		p.created = append(p.created, x.copiedFor(p))
	}
	p.made = of.made
	first := of.threads[0]
	p.threads = []*thread{{p: p, tid: p.pid, id: first.id, began: first.began}}
	if p.handle, err = unix.PidfdOpen(p.pid, 0); err != nil {
		return err
	}
	files := filesOf{pid: p.pid, spare: first.regs.Rsp - 256}
	if err := files.restore(one.files); err != nil {
		return err
	}
	for i := range one.others {
		s := &one.others[i]
		tid, err := copyThread(p.pid, s)
		if err != nil {
			return fmt.Errorf("a thread of its checkpoint could not be copied: %w", err)
		}
		p.threads = append(p.threads, &thread{p: p, tid: tid, id: s.thread.id, began: s.thread.began})
	}
	p.m.runnable = append(p.m.runnable, p.threads...)
	return nil
}

// nowhere is the network of a process that has not reached its checkpoint yet. It does not accept connections.
type nowhere struct{}

func (nowhere) Dialed(c *Conn)      { c.Refuse(false) }
func (nowhere) Wrote(*Conn, []byte) {}
func (nowhere) Closed(*Conn)        {}
func (nowhere) Exited(*Process)     {}
