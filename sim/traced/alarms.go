//go:build linux && amd64

package traced

import (
	"golang.org/x/sys/unix"
)

// alarm is the timer that sends SIGALRM to a process (ITIMER_REAL). As in the kernel, a periodic timer is restarted
// when its signal is delivered.
type alarm struct {
	armed    bool
	at       int64 // how far the process's clock has advanced when the alarm expires
	interval int64 // in ns; 0: it expires once
}

// sentByKernel is the si_code of a signal that was sent by the kernel rather than by a process.
const sentByKernel = 0x80

// remaining returns the time in ns until the alarm goes off, or 0 if the alarm is not set.
func (p *Process) remaining(a alarm) int64 {
	if !a.armed {
		return 0
	}
	return max(a.at-p.clock.advance(p.m.now), 1000)
}

// rings sends SIGALRM to the process if its alarm is due.
func (p *Process) rings() {
	if a := &p.alarm; a.armed && p.due(false, a.at, p.m.now) <= p.m.now {
		a.armed = false
		p.gets(unix.SIGALRM, nil, sender{code: sentByKernel})
	}
}

// rearms restarts a periodic alarm after its signal has been delivered.
func (p *Process) rearms() {
	if a := &p.alarm; !a.armed && a.interval > 0 {
		a.armed = true
		a.at += (max(p.clock.advance(p.m.now)-a.at, 0)/a.interval + 1) * a.interval
	}
}

// setAlarm replaces the process's alarm.
func (p *Process) setAlarm(in, interval int64) {
	p.alarm = alarm{armed: in > 0, at: p.clock.advance(p.m.now) + in, interval: interval}
}

// timeval reads a timeval from a process's memory and returns its value in ns. ok is false if the timeval is invalid.
func timeval(b []byte) (ns int64, ok bool) {
	s, us := int64(le.Uint64(b)), int64(le.Uint64(b[8:]))
	if s < 0 || us < 0 || us >= 1e6 {
		return 0, false
	}
	return min(s, farthest/1e9)*1e9 + us*1000, true
}

// encode returns an alarm as an itimerval.
func (p *Process) encode(a alarm) []byte {
	return append(seconds(a.interval, 1000), seconds(p.remaining(a), 1000)...)
}

// ofProcessorTime is the end of the error message for system calls that create a CPU-time timer. Profilers create such
// timers.
const ofProcessorTime = "for a timer that counts processor time, which is not modeled: " +
	"turn off the profiler that uses it, or use a timer that counts real time"

// isReal reports whether a system call concerns ITIMER_REAL, the real-time timer. A call for a CPU-time timer ends the
// run.
func (t *thread) isReal() bool {
	if t.regs.Rdi == uint64(unix.ITIMER_PROF) || t.regs.Rdi == uint64(unix.ITIMER_VIRTUAL) {
		t.p.m.fail(t, t.name, ofProcessorTime)
		return false
	}
	return true
}

func (t *thread) setitimer() outcome {
	r := &t.regs
	if !t.isReal() {
		return gone
	}
	var in, interval int64
	if r.Rsi != 0 {
		b := make([]byte, 32)
		if !peek(t.tid, r.Rsi, b) {
			return t.errs(unix.EFAULT)
		}
		var ok, alsoOK bool
		if interval, ok = timeval(b); !ok {
			return t.errs(unix.EINVAL)
		}
		if in, alsoOK = timeval(b[16:]); !alsoOK {
			return t.errs(unix.EINVAL)
		}
	}
	if r.Rdi != uint64(unix.ITIMER_REAL) {
		return t.errs(unix.EINVAL)
	}
	now := t.p.encode(t.p.alarm)
	t.p.setAlarm(in, interval)
	if r.Rdx != 0 && !poke(t.tid, r.Rdx, now) {
		return t.errs(unix.EFAULT)
	}
	return t.gives(0)
}

func (t *thread) getitimer() outcome {
	switch {
	case !t.isReal():
		return gone
	case t.regs.Rdi != uint64(unix.ITIMER_REAL):
		return t.errs(unix.EINVAL)
	case !poke(t.tid, t.regs.Rsi, t.p.encode(t.p.alarm)):
		return t.errs(unix.EFAULT)
	}
	return t.gives(0)
}

// alarms implements the alarm system call. It sets the alarm to a number of seconds, and returns the time that was left
// until the previous alarm. This time is rounded to the nearest second, but is at least 1 if any time was left.
func (t *thread) alarms() outcome {
	left := t.p.remaining(t.p.alarm)
	t.p.setAlarm(int64(uint32(t.regs.Rdi))*1e9, 0)
	s, part := left/1e9, left%1e9
	if s == 0 && part > 0 || part >= 5e8 {
		s++
	}
	return t.gives(s)
}
