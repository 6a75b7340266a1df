//go:build linux && amd64

package traced

import (
	"slices"

	"golang.org/x/sys/unix"
)

// posixTimer is a timer that a process created with timer_create. When it expires, it sends a signal.
type posixTimer struct {
	countdown
	id      int
	signal  unix.Signal // 0: the timer sends none, and the process asks for the timer's state
	thread  int         // number of the thread that gets the signal; 0: the process gets it
	value   uint64      // the value carried by the signal
	missed  int64       // number of expirations since the timer's last signal was delivered
	overrun int32       // missed - 1 when that signal was delivered (timer_getoverrun)
}

// sentByTimer is the si_code of a signal sent by a timer.
const sentByTimer = -2

// How a timer can report that it has expired (sigev_notify). toThread is a flag that can be added to notifySignal.
const notifySignal, notifyNone, notifyThread, toThread = 0, 1, 2, 4

// createdClock reports whether a clock shows wall-clock time. It returns an error if timer_create cannot use the clock.
func createdClock(id int32) (day bool, err unix.Errno) {
	switch id {
	case unix.CLOCK_REALTIME, unix.CLOCK_TAI:
		return true, 0
	case unix.CLOCK_MONOTONIC, unix.CLOCK_BOOTTIME:
		return false, 0
	case unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_REALTIME_COARSE, unix.CLOCK_MONOTONIC_COARSE, unix.CLOCK_REALTIME_ALARM,
		unix.CLOCK_BOOTTIME_ALARM:
		return false, unix.EOPNOTSUPP
	}
	return false, unix.EINVAL
}

func (t *thread) timerCreate() outcome {
	r, p, clock := &t.regs, t.p, int32(t.regs.Rdi)
	if clock == unix.CLOCK_PROCESS_CPUTIME_ID || clock == unix.CLOCK_THREAD_CPUTIME_ID || clock < 0 {
		p.m.fail(t, t.name, ofProcessorTime)
		return gone
	}
	day, err := createdClock(clock)
	if err != 0 {
		return t.errs(err)
	}
	x := &posixTimer{countdown: countdown{p: p, day: day}, id: p.made, signal: unix.SIGALRM, value: uint64(p.made)}
	if r.Rsi != 0 {
		event := make([]byte, 20)
		if !peek(t.tid, r.Rsi, event) {
			return t.errs(unix.EFAULT)
		}
		if !x.notifies(event) {
			return t.errs(unix.EINVAL)
		}
	}
	if !poke32(t.tid, r.Rdx, uint32(x.id)) {
		return t.errs(unix.EFAULT)
	}
	p.made++
	p.created = append(p.created, x)
	return t.gives(0)
}

// notifies decodes a sigevent, which specifies what the timer does when it expires. It returns false if the sigevent is
// invalid.
func (x *posixTimer) notifies(event []byte) bool {
	how, id := le.Uint32(event[12:]), int(int32(le.Uint32(event[16:])))
	x.value, x.signal = le.Uint64(event), unix.Signal(int32(le.Uint32(event[8:])))
	switch how {
	case notifySignal | toThread:
		if x.thread = id; x.target() == nil {
			return false
		}
	case notifySignal, notifyThread:
	case notifyNone:
		x.signal = 0
		return true
	default:
		return false
	}
	return x.signal > 0 && x.signal <= 64
}

// target returns the thread that gets the timer's signal, or nil if there is none.
func (x *posixTimer) target() *thread {
	at := slices.IndexFunc(x.p.threads, func(t *thread) bool { return t.id == x.thread })
	if at < 0 {
		return nil
	}
	return x.p.threads[at]
}

// created returns the timer specified by a system call, or nil if there is none.
func (t *thread) created() *posixTimer {
	for _, x := range t.p.created {
		if x.id == int(int32(t.regs.Rdi)) {
			return x
		}
	}
	return nil
}

func (t *thread) timerSettime() outcome {
	r, x := &t.regs, t.created()
	if r.Rdx == 0 {
		return t.errs(unix.EINVAL)
	}
	value, interval, err := t.timerSpec(r.Rdx)
	switch {
	case err != 0:
		return t.errs(err)
	case x == nil:
		return t.errs(unix.EINVAL)
	}
	before := x.setting()
	x.set(t, value, interval, r.Rsi&unix.TIMER_ABSTIME != 0)
	if value == 0 {
		x.interval = 0
	}
	x.missed, x.overrun = 0, 0
	if r.R10 != 0 && !poke(t.tid, r.R10, before) {
		return t.errs(unix.EFAULT)
	}
	return t.gives(0)
}

func (t *thread) timerGettime() outcome {
	x := t.created()
	switch {
	case x == nil:
		return t.errs(unix.EINVAL)
	case !poke(t.tid, t.regs.Rsi, x.setting()):
		return t.errs(unix.EFAULT)
	}
	return t.gives(0)
}

func (t *thread) timerGetoverrun() outcome {
	x := t.created()
	if x == nil {
		return t.errs(unix.EINVAL)
	}
	return t.gives(int64(x.overrun))
}

func (t *thread) timerDelete() outcome {
	x := t.created()
	if x == nil {
		return t.errs(unix.EINVAL)
	}
	x.armed = false
	t.p.created = slices.DeleteFunc(t.p.created, func(o *posixTimer) bool { return o == x })
	return t.gives(0)
}

// due returns the time at which the timer will send its signal. ok is false if it will not send one.
func (x *posixTimer) due() (at int64, ok bool) {
	at, runs := x.countdown.due()
	return at, runs && x.signal != 0
}

// setting returns the interval and the remaining time, as an itimerspec. For a periodic timer that has expired, this is
// the time until the next expiration.
func (x *posixTimer) setting() []byte {
	var left int64
	switch {
	case x.armed && x.interval > 0:
		if x.expired || x.signal == 0 {
			x.forward()
		}
		left = max(x.at-x.reading(), 1)
	case x.armed && x.signal != 0:
		left = max(x.at-x.reading(), 1)
	case x.armed:
		left = max(x.at-x.reading(), 0)
	}
	return append(seconds(x.interval, 1), seconds(left, 1)...)
}

// forward moves the next expiration of a periodic timer into the future, and counts the intervals that have passed.
func (x *posixTimer) forward() {
	if late := x.reading() - x.at; late >= 0 {
		n := late/x.interval + 1
		x.at += n * x.interval
		x.missed += n
	}
}

// expires sends the timer's signal if the timer is due.
func (x *posixTimer) expires() {
	if at, runs := x.due(); !runs || at > x.p.m.now || x.p.ended {
		return
	}
	x.expired, x.armed = true, x.interval > 0
	if slices.ContainsFunc(x.p.sent, func(s sent) bool { return s.from.timer == x }) {
		return
	}
	from, to, queued := sender{code: sentByTimer, id: x.id, value: x.value, timer: x}, x.target(), false
	switch {
	case x.thread == 0:
		queued = x.p.gets(x.signal, nil, from)
	case to != nil:
		queued = to.gets(x.signal, nil, from)
	}
	if !queued && x.armed { // the process ignores the signal
		x.at += leastIgnored
		x.delivered()
	}
}

// leastIgnored is the minimum time, in ns, between two expirations of a timer whose signal is being ignored.
const leastIgnored = 1_000_000

// delivered is called when the timer's signal is delivered. It restarts a periodic timer, and returns how many more
// times the timer has expired since it sent the signal.
func (x *posixTimer) delivered() int32 {
	if !x.expired || x.interval == 0 {
		return 0
	}
	x.forward()
	x.overrun = int32(min(max(x.missed-1, 0), 1<<31-1))
	x.expired, x.missed = false, 0
	return x.overrun
}

// copiedFor returns a copy of the timer for p, which is a copy of the timer's process.
func (x *posixTimer) copiedFor(p *Process) *posixTimer {
	o := *x
	o.p = p
	return &o
}
