//go:build linux && amd64

package traced

import (
	"golang.org/x/sys/unix"
)

// sigtimedwait waits for one of the signals in a set, like the C function sigwait.
func (t *thread) sigtimedwait() outcome {
	r := t.regs
	var set [8]byte
	switch {
	case r.R10 != 8:
		return t.errs(unix.EINVAL)
	case !peek(t.tid, r.Rdi, set[:]):
		return t.errs(unix.EFAULT)
	}
	waits := signalSet(le.Uint64(set[:]))
	b := block{takes: waits}
	if r.Rdx != 0 {
		d, ok := t.timespec(r.Rdx)
		if !ok {
			return t.errs(unix.EINVAL)
		}
		rest := t.relative(d)
		b.timed, b.at = true, rest.at
	}
	b.ready = func(timeout bool) bool {
		if t.p.signals(t.tid).pending&waits == 0 {
			if timeout {
				t.finish(-int64(unix.EAGAIN))
			}
			return timeout
		}
		t.takes(unix.Signal(t.passThrough(func(*unix.PtraceRegs) {})), r.Rsi)
		return true
	}
	return t.waitsFor(b)
}

// takes handles the return from a system call that has received a signal. info is the address of the siginfo_t that the
// call has written, or 0 if there is none.
func (t *thread) takes(sig unix.Signal, info uint64) {
	if from, known := t.receives(sig); known && info != 0 {
		var b [sizeOfInfo]byte
		from.encode(b[:], sig)
		poke(t.tid, info, b[:])
	}
	t.marksFiles()
}

// sigsuspend waits until a signal arrives that is not in the given set. It then lets the kernel execute the system
// call.
func (t *thread) sigsuspend() outcome {
	var set [8]byte
	switch {
	case t.regs.Rsi != 8:
		return t.errs(unix.EINVAL)
	case !peek(t.tid, t.regs.Rdi, set[:]):
		return t.errs(unix.EFAULT)
	}
	masks := signalSet(le.Uint64(set[:]))
	if t.p.signals(t.tid).pending&^masks != 0 {
		return passes
	}
	return t.blocks(block{masks: &masks, ready: func(bool) bool { return true }})
}
