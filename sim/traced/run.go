//go:build linux && amd64

package traced

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// outcome says how a thread continues after a system call.
type outcome uint8

const (
	answered outcome = iota // the machine has set the result
	passes                  // the kernel carries out the call
	blocks                  // the thread waits as its block describes
	yields                  // the result is set, but other threads run first
	gone                    // the thread or the process has ended
)

// call is a modeled system call.
type call struct {
	name string
	do   func(t *thread) outcome
}

// block describes what a blocked thread is waiting for.
type block struct {
	timed bool
	wall  bool  // at is a time on the wall clock
	at    int64 // if wall is not set: how far the process's clock will have advanced
	// futex identifies the futex on which the thread is waiting, if bits is not 0. Threads waiting on the same futex
	// are woken in the order in which they began to wait.
	futex futexKey
	bits  uint32
	order uint64
	fds   []unix.PollFd // duplicates of the files for which the thread waits; they are closed when the wait ends
	conn  *Conn         // the connection that the thread waits to open
	child bool          // the thread waits for a child of its process
	firm  bool          // signals do not end the wait
	takes signalSet     // the signals for which the call waits, and which it returns
	masks *signalSet    // if set: the signals that the thread blocks during the call, in place of its own
	// ready ends the system call if possible, and reports whether it did. If timeout is true, time is up and the call
	// must end.
	ready func(timeout bool) bool
}

// run lets a thread run until its next stop.
func (m *Machine) run(t *thread) {
	p := t.p
	if !p.resume(t) {
		return
	}
	m.watch.pid.Store(int64(p.pid))
	m.watch.turns.Add(1)
	st, err := t.stop()
	m.watch.pid.Store(0)
	m.advance(p, p.left-m.page[mayAdvance])
	switch {
	case err != nil:
		m.fail(t, "", "is lost: "+err.Error())
	case st.Exited() || st.Signaled():
		p.finished(t, st)
		return
	case event(st) == unix.PTRACE_EVENT_SECCOMP:
		m.enter(t)
	case event(st) == unix.PTRACE_EVENT_EXEC:
		m.executed(t)
	case event(st) != 0:
		m.fail(t, "", fmt.Sprintf("stopped for an unknown reason (%#x)", uint32(st)))
	default:
		t.signaled(st.StopSignal())
	}
	if m.current == t && m.now-m.turn >= slice && m.othersCanRun() {
		m.ends(t)
		m.runnable = append(m.runnable, t)
	}
}

// stop waits until a running thread stops or ends. Meanwhile, it collects the exit statuses of the process's other
// threads, because the kernel does not report the end of the first thread before all others have been collected.
func (t *thread) stop() (unix.WaitStatus, error) {
	for {
		var st unix.WaitStatus
		tid, err := unix.Wait4(-1, &st, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || tid == t.tid:
			return st, err
		}
		for _, o := range t.p.threads {
			o.ended = o.ended || o.tid == tid && (st.Exited() || st.Signaled())
		}
	}
}

// resume lets a stopped thread continue. First, it writes the current readings of the process's clocks to the memory
// page where the process reads them. It returns false if the process has ended.
func (p *Process) resume(t *thread) bool {
	m := p.m
	left := min(m.until, m.deadline())
	if m.othersCanRun() {
		left = min(left, m.turn+slice)
	}
	// Code in the process can advance the page's clocks only at the normal rate. At any other rate, each reading makes
	// a system call.
	if left -= m.now; p.clock.ppm != 0 {
		left = 0
	}
	p.left = max(left, 0)
	m.page[wallNow], m.page[monotonicNow] = p.clock.realtime(m.now), p.clock.monotonic(m.now)
	m.page[mayAdvance] = p.left
	signal := t.signal
	t.signal = 0
	if unix.PtraceCont(t.tid, int(signal)) != nil { // the process was killed in the meantime
		p.ends(Exit{Code: 128 + int(unix.SIGKILL), Signal: "SIGKILL"})
		return false
	}
	return true
}

// enter handles a thread that has stopped on entry to a system call.
func (m *Machine) enter(t *thread) {
	unix.PtraceGetRegs(t.tid, &t.regs)
	c, known := calls[t.regs.Orig_rax]
	if !known {
		m.fail(t, nameOf(t.regs.Orig_rax), "which is not modeled: "+
			"a program that needs it cannot run in virtual time yet; fencepost live runs it in real time")
		return
	}
	t.name = c.name
	if m.way != nil && m.way.arrives(t) {
		m.frozen, m.current = t, nil
		return
	}
	m.advance(t.p, t.p.takes())
	switch c.do(t) {
	case passes:
		t.record(0)
	case blocks:
		m.ends(t)
	case yields:
		m.ends(t)
		m.runnable = append(m.runnable, t)
	case answered:
		if t.p.dirty {
			t.p.recheck()
		}
	}
}

// ends stops running a thread, so that the machine can choose another one.
func (m *Machine) ends(t *thread) {
	m.current = nil
	t.p.look()
	t.p.recheck()
}

// signaled handles a signal that is about to be delivered to a thread.
func (t *thread) signaled(s unix.Signal) {
	switch {
	case s == unix.SIGSTOP && t.fresh:
		t.fresh = false
	case s == unix.SIGSEGV && t.readsCounter():
	case s == unix.SIGTRAP:
	default:
		t.cameFrom(s)
		t.restarts()
		t.signal = s
	}
}

// readsCounter emulates rdtsc, which is trapped. The result is the time on the monotonic clock, in ns.
func (t *thread) readsCounter() bool {
	unix.PtraceGetRegs(t.tid, &t.regs)
	code := make([]byte, 3)
	if !peek(t.tid, t.regs.Rip, code) {
		peek(t.tid, t.regs.Rip, code[:2])
	}
	switch {
	case code[0] == 0x0f && code[1] == 0x31: // rdtsc
		t.regs.Rip += 2
	case code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9: // rdtscp
		t.regs.Rip += 3
		t.regs.Rcx = 0
	default:
		return false
	}
	t.p.m.advance(t.p, t.p.takes())
	v := uint64(t.p.clock.monotonic(t.p.m.now))
	t.regs.Rax, t.regs.Rdx = v&0xffffffff, v>>32
	unix.PtraceSetRegs(t.tid, &t.regs)
	return true
}

// finished handles a process that has ended. t is its last thread, and st is the thread's wait status.
func (p *Process) finished(t *thread, st unix.WaitStatus) {
	t.ended = true
	how := Exit{Code: st.ExitStatus()}
	if st.Signaled() {
		how = Exit{Code: 128 + int(st.Signal()), Signal: unix.SignalName(st.Signal())}
		if p.m.watch.fired.Swap(false) {
			p.m.busied = true
			p.m.fail(t, "", fmt.Sprintf(busyProblem, p.m.busy))
		}
	}
	p.ends(how)
}

// executed handles a process that has replaced its program with another one (exec).
func (m *Machine) executed(t *thread) {
	p := t.p
	if len(p.threads) > 1 {
		m.fail(t, "execve", "while it has other threads, which is not modeled")
		return
	}
	unix.PtraceSyscall(t.tid, 0)
	if _, err := wait(t.tid); err != nil {
		m.fail(t, "execve", err.Error())
		return
	}
	if err := readable("/proc/" + strconv.Itoa(p.pid) + "/exe"); err != nil {
		m.fail(t, "execve", "and "+err.Error())
		return
	}
	if err := p.adopt(); err != nil {
		m.fail(t, "execve", "and the program cannot be traced: "+err.Error())
	}
	p.knows, p.created = nil, nil
	p.returnsMemory()
	p.recheck() // files that are closed when a program is executed
}

// finish sets the result of a system call. The thread must be stopped on entry to the call.
func (t *thread) finish(result int64) {
	t.record(result)
	t.regs.Orig_rax = ^uint64(0)
	t.regs.Rax = uint64(result)
	unix.PtraceSetRegs(t.tid, &t.regs)
}

func (t *thread) record(result int64) {
	if f := t.p.m.options.Record; f != nil {
		f(Call{At: time.Duration(t.p.m.now), Process: t.p.command.Name, Thread: t.id, Name: t.name, Result: result})
	}
}

// gives sets the result of a thread's system call. It always returns answered.
func (t *thread) gives(result int64) outcome {
	t.finish(result)
	return answered
}

// errs makes a thread's system call fail with an error.
func (t *thread) errs(e unix.Errno) outcome { return t.gives(-int64(e)) }

// blocks makes a thread wait as the given block describes.
func (t *thread) blocks(b block) outcome {
	t.blocked = &b
	return blocks
}

// passThrough calls change, which modifies the arguments of a system call, and then lets the kernel execute the call.
// The thread must be stopped on entry to the call. Afterward, passThrough restores the thread's registers, because
// programs rely on their values.
func (t *thread) passThrough(change func(r *unix.PtraceRegs)) int64 {
	old := t.regs
	change(&t.regs)
	unix.PtraceSetRegs(t.tid, &t.regs)
	unix.PtraceSyscall(t.tid, 0)
	if st, err := wait(t.tid); err != nil || !st.Stopped() {
		t.p.m.fail(t, t.name, "and ended in it")
		return -int64(unix.EINTR)
	}
	unix.PtraceGetRegs(t.tid, &t.regs)
	result := int64(t.regs.Rax)
	old.Rax, old.Orig_rax, old.Rcx, old.R11 = t.regs.Rax, t.regs.Orig_rax, t.regs.Rcx, t.regs.R11
	t.regs = old
	unix.PtraceSetRegs(t.tid, &t.regs)
	t.record(result)
	return result
}

// unblock ends a thread's wait.
func (t *thread) unblock() {
	if t.blocked == nil {
		return
	}
	for _, f := range t.blocked.fds {
		if f.Fd >= 0 {
			unix.Close(int(f.Fd))
		}
	}
	t.blocked = nil
}

// goesOn makes a thread runnable once the result of its system call has been set.
func (t *thread) goesOn() {
	t.unblock()
	t.p.m.runnable = append(t.p.m.runnable, t)
}

// recheck unblocks the threads that are waiting for files that are now ready.
func (f *family) recheck() {
	f.dirty = false
	for _, p := range f.members {
		for _, t := range p.threads {
			if b := t.blocked; b != nil && len(b.fds) > 0 && pollNow(b.fds) > 0 && b.ready(false) {
				t.goesOn()
			}
		}
	}
}

// dup duplicates one of the process's file descriptors. ok is false if the process has no such descriptor.
func (p *Process) dup(fd uint64) (own int, ok bool) {
	own, err := unix.PidfdGetfd(p.handle, int(int32(fd)), 0)
	return own, err == nil
}

// remove removes a thread that has ended from its process.
func (p *Process) remove(t *thread) {
	p.sent = slices.DeleteFunc(p.sent, func(s sent) bool { return s.to == t })
	p.threads = slices.DeleteFunc(p.threads, func(o *thread) bool { return o == t })
}
