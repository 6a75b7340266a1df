//go:build linux && amd64

package traced

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"golang.org/x/sys/unix"
)

// family is a program that the machine was told to start, together with all the processes that this program has
// started. They share their clocks and connections, and each fault affects all of them.
//
// To the kernel, each of these processes is a child of the machine (CLONE_PARENT). The machine therefore handles the
// system calls that a process makes to wait for its children, and sends SIGCHLD itself.
type family struct {
	m           *Machine
	command     Command
	first       *Process   // the process of the program; when it ends, the others are killed
	members     []*Process // including those that have ended and that their parents have not waited for yet
	started     int        // number of processes that were started so far, without the first one
	lastID      int        // number of the latest thread
	conns       []*Conn
	timers      []*timer
	signalFiles []*signalFile
	rand        *rand.Rand
	clock       clock
	calls       callCount
	paused      int
	dirty       bool // a thread may have made a file ready
	refused     []string
	shared      sharedFiles
}

// callCount counts a program's modeled system calls.
type callCount struct {
	all   int   // since the program started
	since int64 // when the current period of virtual time began
	made  int   // within this period
}

// On a real host, the code between two system calls takes time. Here, only the calls take virtual time, so a program
// could make calls in an endless loop without ever waiting, and nothing would slow it down. Therefore, once a program
// has made mostFast calls within countPeriod, each further call takes slowTick. Even at this rate, a program could keep
// the host busy for minutes. So after mostCalls calls in all, only laterFast calls per period are fast, and each
// further call takes laterTick. All times are in ns.
const (
	countPeriod = 10_000_000_000
	mostFast    = 50_000
	slowTick    = 100 * tick
	mostCalls   = 200_000
	laterFast   = 5_000
	laterTick   = 2000 * tick
)

// takes counts a modeled system call or a trapped clock read, and returns how much virtual time it takes.
func (f *family) takes() int64 {
	c := &f.calls
	if f.m.now-c.since >= countPeriod {
		c.since, c.made = f.m.now, 0
	}
	c.all++
	c.made++
	switch {
	case c.all > mostCalls && c.made > laterFast:
		return laterTick
	case c.made > mostFast:
		return slowTick
	}
	return tick
}

// kin describes how a process is related to the others in its family.
type kin struct {
	parent  *Process // nil: init
	group   int      // number of its process group
	session int
	lender  *thread // the thread that waits because the process uses its memory (vfork); nil: none
}

// mostStarted is how many processes a program may start in one run.
const mostStarted = 300

// startsProcess executes a system call that starts a process.
func (t *thread) startsProcess(flags uint64) outcome {
	const modeled = unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_SETTID |
		unix.CLONE_CHILD_CLEARTID | unix.CLONE_SETTLS | uint64(unix.SIGCHLD)
	p, borrows := t.p, flags&unix.CLONE_VM != 0
	switch {
	case flags&unix.CLONE_PIDFD != 0:
		return t.errs(unix.EINVAL) // as on kernels without process files
	case flags&^modeled != 0 || flags&0xff != uint64(unix.SIGCHLD) || borrows && flags&unix.CLONE_VFORK == 0:
		p.m.fail(t, t.name, fmt.Sprintf("to start another process with the flags %#x, which are not modeled: "+
			"start it with fork or exec", flags))
		return gone
	case p.started == mostStarted:
		p.m.fail(t, t.name, fmt.Sprintf("to start another process, although it has already started %d, "+
			"which is the limit: does it start processes endlessly? fencepost live has no limit", p.started))
		return gone
	}
	if borrows {
		p.forgetsNumber()
	}
	pid, err := t.copies(flags)
	if err != nil {
		p.m.fail(t, t.name, "to start another process, but the kernel refused: "+err.Error())
		return gone
	}
	child := p.child(pid)
	if child.handle, err = unix.PidfdOpen(pid, 0); err != nil {
		p.m.fail(t, t.name, "but the new process was lost: "+err.Error())
		return gone
	}
	if flags&unix.CLONE_PARENT_SETTID != 0 {
		poke32(t.tid, t.regs.Rdx, uint32(child.id))
	}
	if flags&unix.CLONE_CHILD_SETTID != 0 {
		poke32(pid, t.regs.R10, uint32(child.id))
	}
	p.m.runnable = append(p.m.runnable, child.threads[0])
	if flags&unix.CLONE_VFORK == 0 {
		return t.gives(int64(child.id))
	}
	child.lender = t
	return t.blocks(block{firm: true, ready: func(bool) bool {
		t.finish(int64(child.id))
		return true
	}})
}

// vfork starts a process that uses the calling process's memory.
func (t *thread) vfork() outcome {
	t.regs.Rsi = 0
	return t.startsProcess(unix.CLONE_VM | unix.CLONE_VFORK | uint64(unix.SIGCHLD))
}

// copies makes the kernel fork a new process from the thread. It then restores the registers of both the thread and the
// new process.
func (t *thread) copies(flags uint64) (pid int, err error) {
	entry := t.regs
	r := entry
	r.Orig_rax, r.Rax = unix.SYS_CLONE, unix.SYS_CLONE
	r.Rdi = flags&(unix.CLONE_VM|unix.CLONE_SETTLS) | unix.CLONE_PARENT | uint64(unix.SIGCHLD)
	if entry.Orig_rax != unix.SYS_CLONE {
		r.Rsi, r.Rdx, r.R10, r.R8 = 0, 0, 0, 0
	}
	if err := unix.PtraceSetRegs(t.tid, &r); err != nil {
		return 0, err
	}
	unix.PtraceSyscall(t.tid, 0)
	st, err := wait(t.tid)
	if err != nil {
		return 0, err
	}
	if event(st) != unix.PTRACE_EVENT_FORK {
		unix.PtraceGetRegs(t.tid, &r)
		return 0, unix.Errno(-int64(r.Rax))
	}
	number, err := unix.PtraceGetEventMsg(t.tid)
	if err != nil {
		return 0, err
	}
	pid = int(number)
	if _, err := wait(pid); err != nil {
		return 0, err
	}
	unix.PtraceSyscall(t.tid, 0)
	if _, err := wait(t.tid); err != nil {
		return 0, err
	}
	for _, tid := range []int{t.tid, pid} {
		if err := unix.PtraceGetRegs(tid, &r); err != nil {
			return 0, err
		}
		r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8 = entry.Rdi, entry.Rsi, entry.Rdx, entry.R10, entry.R8
		r.Orig_rax = ^uint64(0)
		if err := unix.PtraceSetRegs(tid, &r); err != nil {
			return 0, err
		}
		if tid == t.tid {
			t.regs = r
		}
	}
	return pid, nil
}

// child adds a process started by p to the family. pid is the new process's ID on the host.
func (p *Process) child(pid int) *Process {
	p.started++
	p.lastID++
	c := &Process{family: p.family, pid: pid, handle: -1, id: p.lastID, output: -1, replaced: p.replaced,
		knows: slices.Clone(p.knows), kin: kin{parent: p, group: p.group, session: p.session}}
	c.threads = []*thread{{p: c, tid: pid, id: c.id}}
	for _, at := range c.knows {
		pokeCode(pid, at, returning(c.id))
	}
	p.members = append(p.members, c)
	return c
}

// returnsMemory resumes the thread that called vfork. Until now, the process has been using that thread's memory.
func (p *Process) returnsMemory() {
	if t := p.lender; t != nil && !t.p.ended {
		t.blocked.ready(false)
		t.goesOn()
	}
	p.lender = nil
}

// ends cleans up after a process has ended, and wakes the threads that are waiting for it.
func (p *Process) ends(how Exit) {
	p.reap(how)
	if p == p.first {
		p.m.options.Network.Exited(p)
		return
	}
	p.returnsMemory()
	for _, o := range slices.Clone(p.members) {
		if o.parent != p {
			continue
		}
		if o.parent = nil; o.ended {
			o.leaves()
		}
	}
	p.look()
	p.recheck()
	parent := p.parent
	if parent == nil || parent.signals(parent.pid).ignored.has(unix.SIGCHLD) {
		p.leaves()
	}
	if parent == nil {
		return
	}
	for _, t := range parent.threads {
		if b := t.blocked; b != nil && b.child && b.ready(false) {
			t.goesOn()
		}
	}
	code := int32(cldExited)
	if how.Signal != "" {
		code = cldKilled
	}
	parent.gets(unix.SIGCHLD, nil, sender{code: code, id: p.id, value: uint64(how.reason())})
}

// leaves removes a process that has ended from its family.
func (p *Process) leaves() {
	p.members = slices.DeleteFunc(p.members, func(o *Process) bool { return o == p })
}

// reason returns a process's exit status, or the number of the signal that killed it.
func (e Exit) reason() int {
	if e.Signal != "" {
		return e.Code - 128
	}
	return e.Code
}

// status encodes how a process ended, in the format returned by wait4.
func (e Exit) status() uint32 {
	if e.Signal != "" {
		return uint32(e.reason())
	}
	return uint32(e.Code) << 8
}
