//go:build linux && amd64

package traced

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// signalSet is a set of signals, with one bit for each signal.
type signalSet uint64

func (s signalSet) has(sig unix.Signal) bool { return sig > 0 && s>>(sig-1)&1 == 1 }

// dispositions says how a thread handles signals: which ones are blocked, ignored, caught and pending.
type dispositions struct{ blocked, ignored, caught, pending signalSet }

// signals returns how one of the process's threads handles signals.
func (p *Process) signals(tid int) (d dispositions) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", p.pid, tid))
	var ofProcess signalSet
	sets := map[string]*signalSet{"SigBlk": &d.blocked, "SigIgn": &d.ignored, "SigCgt": &d.caught,
		"SigPnd": &d.pending, "ShdPnd": &ofProcess}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if set := sets[name]; set != nil {
			v, _ := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			*set = signalSet(v)
		}
	}
	d.pending |= ofProcess
	return d
}

// sender describes the origin of a signal, as a signal handler sees it.
type sender struct {
	code    int32
	id      int         // ID of the process or of the timer
	value   uint64      // for SIGCHLD: how the process has ended; for a timer: the value that was stored with it
	timer   *posixTimer // nil: none
	overrun int32       // number of times the timer has expired again since it sent the signal
}

// sent is a signal that has been sent to a process, or to one of its threads, but has not been delivered yet.
type sent struct {
	sig  unix.Signal
	to   *thread // nil: the process
	from sender
}

// sentToThread is the si_code of a signal that was sent to a single thread (SI_TKILL).
const sentToThread = -6

// sizeOfInfo is the size of a siginfo_t in bytes.
const sizeOfInfo = 128

// encode writes a siginfo_t.
func (s sender) encode(info []byte, sig unix.Signal) {
	clear(info)
	le.PutUint32(info, uint32(sig))
	le.PutUint32(info[8:], uint32(s.code))
	if s.code == sentByKernel {
		return
	}
	le.PutUint32(info[16:], uint32(s.id))
	le.PutUint32(info[20:], uint32(os.Getuid()))
	if s.timer != nil {
		le.PutUint32(info[20:], uint32(s.overrun))
	}
	le.PutUint64(info[24:], s.value)
}

// harmless lists the signals that have no effect on a process that does not handle them. stopping lists the signals
// that stop such a process.
var (
	harmless = []unix.Signal{unix.SIGCHLD, unix.SIGURG, unix.SIGWINCH, unix.SIGCONT}
	stopping = []unix.Signal{unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU}
)

// drops reports whether a signal has no effect and is dropped.
func (d *dispositions) drops(sig unix.Signal) bool {
	return !d.blocked.has(sig) && (d.ignored.has(sig) || !d.caught.has(sig) && slices.Contains(harmless, sig))
}

// gets sends a signal to a process. If any threads that do not block the signal are waiting, gets ends the wait of the
// first one, so that the signal can be delivered. origin is the thread that sent the signal, or nil. gets returns false
// if the signal has no effect.
func (p *Process) gets(sig unix.Signal, origin *thread, from sender) bool {
	d := p.signals(p.pid)
	switch {
	case p.ended || d.drops(sig):
		return false
	case p.killedOrStopped(sig, &d, origin):
		return true
	}
	p.remembers(sent{sig, nil, from})
	unix.Kill(p.pid, sig)
	for _, t := range p.threads {
		if t.admits(sig) {
			if t != origin {
				t.interrupted()
			}
			break
		}
	}
	p.threads[0].marksFiles()
	return true
}

// killedOrStopped reports whether a signal kills or stops the process, regardless of its threads. A signal that would
// stop the process ends the run. origin is the thread that sent the signal, or nil if a timer sent it.
func (p *Process) killedOrStopped(sig unix.Signal, d *dispositions, origin *thread) bool {
	switch {
	case sig == unix.SIGKILL:
		p.ends(Exit{Code: 128 + int(sig), Signal: "SIGKILL"})
		return true
	case d.caught.has(sig) || d.blocked.has(sig) || !slices.Contains(stopping, sig):
		return false
	}
	call := "timer_settime"
	if origin != nil {
		call = origin.name
	} else {
		origin = p.threads[0]
	}
	p.m.fail(origin, call, fmt.Sprintf("to send %s, which stops a process and is not modeled: "+
		"pause a client with a fault instead", unix.SignalName(sig)))
	return true
}

// gets sends a signal to a single thread. Apart from that, it is like the Process method of the same name.
func (t *thread) gets(sig unix.Signal, origin *thread, from sender) bool {
	p := t.p
	d := p.signals(t.tid)
	switch {
	case p.ended || d.drops(sig):
		return false
	case p.killedOrStopped(sig, &d, origin):
		return true
	}
	p.remembers(sent{sig, t, from})
	unix.Tgkill(p.pid, t.tid, sig)
	if t != origin && t.admits(sig) {
		t.interrupted()
	}
	t.marksFiles()
	return true
}

// admits reports whether a signal can be delivered to a thread now.
func (t *thread) admits(sig unix.Signal) bool {
	switch b := t.blocked; {
	case b != nil && b.firm:
		return false
	case b != nil && b.takes.has(sig):
		return true
	case b != nil && b.masks != nil:
		return !b.masks.has(sig)
	}
	return !t.p.signals(t.tid).blocked.has(sig)
}

// interrupted ends the system call that a thread is waiting in, because a signal has arrived that the thread does not
// block.
func (t *thread) interrupted() {
	b := t.blocked
	switch {
	case b == nil:
		return
	case (b.takes != 0 || b.masks != nil) && b.ready(false):
	default:
		t.call = t.regs.Orig_rax
		t.broken = !b.timed && slices.Contains(restartable, t.call)
		t.finish(-int64(unix.EINTR))
	}
	t.goesOn()
}

// restartable lists the system calls that the kernel restarts after a signal if its handler was installed with
// SA_RESTART. Calls with a timeout are not restarted.
var restartable = []uint64{unix.SYS_READ, unix.SYS_READV, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_WRITE,
	unix.SYS_WRITEV, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_CONNECT, unix.SYS_WAIT4, unix.SYS_WAITID,
	unix.SYS_FUTEX}

// restarts is called before the delivery of a signal that has interrupted a system call. It lets the kernel decide
// whether to restart the call, because only the kernel knows the signal's handler.
func (t *thread) restarts() {
	if !t.broken {
		return
	}
	t.broken = false
	const restart = -512 // ERESTARTSYS
	var r unix.PtraceRegs
	if unix.PtraceGetRegs(t.tid, &r) == nil && int64(r.Rax) == -int64(unix.EINTR) {
		again := int64(restart)
		r.Rax, r.Orig_rax = uint64(again), t.call
		unix.PtraceSetRegs(t.tid, &r)
	}
}

// firstQueued is the lowest signal that the kernel queues: several instances of it can be pending. If a lower signal is
// already pending, it is not sent again, except by a timer.
const firstQueued = 32

// remembers stores a signal's sender until the signal is delivered.
func (p *Process) remembers(s sent) {
	same := func(o sent) bool { return o.sig == s.sig && o.to == s.to }
	if s.sig < firstQueued && s.from.timer == nil && slices.ContainsFunc(p.sent, same) {
		tid := p.pid
		if s.to != nil {
			tid = s.to.tid
		}
		if p.signals(tid).pending.has(s.sig) {
			return
		}
		p.sent = slices.DeleteFunc(p.sent, same) // the program has ignored the signal in the meantime
	}
	p.sent = append(p.sent, s)
}

// receives is called when a signal is delivered to a thread. It returns the signal's sender. ok is false if the sender
// is not known.
func (t *thread) receives(sig unix.Signal) (from sender, ok bool) {
	p := t.p
	if sig == unix.SIGALRM {
		p.rearms()
	}
	is := func(to *thread) func(sent) bool {
		return func(s sent) bool { return s.sig == sig && s.to == to }
	}
	to := t
	at := slices.IndexFunc(p.sent, is(t))
	if at < 0 {
		to, at = nil, slices.IndexFunc(p.sent, is(nil))
	}
	if at < 0 {
		return from, false
	}
	from = p.sent[at].from
	p.sent = slices.Delete(p.sent, at, at+1)
	if from.timer != nil {
		from.overrun = from.timer.delivered()
	}
	if sig < firstQueued && slices.ContainsFunc(p.sent, is(to)) { // the kernel has kept only one of them
		if to == nil {
			unix.Kill(p.pid, sig)
		} else {
			unix.Tgkill(p.pid, t.tid, sig)
		}
	}
	return from, true
}

// kill implements the kill system call. It can only send signals to processes in the same family.
func (t *thread) kill() outcome {
	id, sig := int(int32(t.regs.Rdi)), unix.Signal(t.regs.Rsi)
	var to []*Process
	for _, o := range t.p.members {
		if id > 0 && o.id == id || id == 0 && o.group == t.p.group || id < -1 && o.group == -id ||
			id == -1 && o != t.p {
			to = append(to, o)
		}
	}
	switch {
	case sig < 0 || sig > 64:
		return t.errs(unix.EINVAL)
	case len(to) == 0:
		return t.errs(unix.ESRCH)
	}
	t.finish(0)
	for _, o := range to {
		if sig != 0 {
			o.gets(sig, t, sender{id: t.p.id})
		}
	}
	if t.p.ended {
		return gone
	}
	return answered
}

// tkill implements the tkill system call, which sends a signal to a single thread of the process.
func (t *thread) tkill() outcome {
	id, sig := int(int32(t.regs.Rdi)), unix.Signal(t.regs.Rsi)
	if t.name == "tgkill" {
		id, sig = int(int32(t.regs.Rsi)), unix.Signal(t.regs.Rdx)
	}
	for _, o := range t.p.threads {
		if o.id != id {
			continue
		}
		t.finish(0)
		if sig != 0 {
			o.gets(sig, t, sender{code: sentToThread, id: t.p.id})
		}
		if t.p.ended {
			return gone
		}
		return answered
	}
	return t.errs(unix.ESRCH)
}

// cameFrom corrects the sender of a signal that is about to be delivered to a thread. The kernel names the machine as
// the sender. cameFrom replaces the machine's process ID with that of the actual sender, as the process sees it.
func (t *thread) cameFrom(sig unix.Signal) {
	if from, known := t.receives(sig); known {
		var info [sizeOfInfo]byte
		from.encode(info[:], sig)
		request(unix.PTRACE_SETSIGINFO, t.tid, 0, uintptr(unsafe.Pointer(&info)))
	}
	t.marksFiles()
}
