//go:build linux && amd64

package traced

import (
	"golang.org/x/sys/unix"
)

// As in the kernel, a periodic timer is not restarted until the process has been told that the timer expired. For a
// timerfd, this is when the process reads the descriptor. For a timer created with timer_create, it is when the timer's
// signal is delivered.

// countdown is what both kinds of timers have in common.
type countdown struct {
	p        *Process
	day      bool // the clock of the timer shows the time of day
	armed    bool
	wall     bool  // at is a time on the wall clock
	at       int64 // when the timer expires next; if wall is not set: how far the process's clock will have advanced
	interval int64 // interval in ns; 0: the timer expires once
	expired  bool  // the timer has expired, and the process has not learned of it yet
}

// timer is one of a process's timerfds.
type timer struct {
	countdown
	special
	count    uint64
	cancels  bool // a jump of the wall clock ends reads with ECANCELED
	canceled bool
}

// timerClocks lists the clocks that a timerfd can use. The value is true for clocks that show wall-clock time.
var timerClocks = map[int32]bool{unix.CLOCK_REALTIME: true, unix.CLOCK_MONOTONIC: false, unix.CLOCK_BOOTTIME: false,
	unix.CLOCK_REALTIME_ALARM: true, unix.CLOCK_BOOTTIME_ALARM: false}

func (t *thread) timerfdCreate() outcome {
	day, known := timerClocks[int32(t.regs.Rdi)]
	flags := t.regs.Rsi
	if !known || flags&^(unix.TFD_NONBLOCK|unix.TFD_CLOEXEC) != 0 {
		return t.errs(unix.EINVAL)
	}
	s, o := t.makes(flags)
	if s.end >= 0 {
		t.p.timers = append(t.p.timers, &timer{countdown: countdown{p: t.p, day: day}, special: s})
	}
	return o
}

// timer returns the timerfd with the given descriptor, and a duplicate of the descriptor. If there is none, err is the
// error that the system call must return.
func (t *thread) timer(fd uint64) (x *timer, own int, err unix.Errno) {
	own, ok := t.p.dup(fd)
	if !ok {
		return nil, -1, unix.EBADF
	}
	mode, _, inode := kindOf(own)
	if x = t.p.timerOf(mode, inode); x == nil {
		unix.Close(own)
		return nil, -1, unix.EINVAL
	}
	return x, own, 0
}

// timerOf returns the timerfd behind a socket, or nil if there is none.
func (p *Process) timerOf(mode uint32, inode uint64) *timer {
	for _, x := range p.timers {
		if x.matches(mode, inode) {
			return x
		}
	}
	return nil
}

func (t *thread) timerfdSettime() outcome {
	r := &t.regs
	value, interval, err := t.timerSpec(r.Rdx)
	switch {
	case err != 0:
		return t.errs(err)
	case r.Rsi&^(unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET) != 0:
		return t.errs(unix.EINVAL)
	}
	x, own, err := t.timer(r.Rdi)
	if err != 0 {
		return t.errs(err)
	}
	defer unix.Close(own)
	before := x.setting()
	drain(own)
	x.count, x.canceled = 0, false
	absolutely := r.Rsi&unix.TFD_TIMER_ABSTIME != 0
	x.cancels = absolutely && x.day && r.Rsi&unix.TFD_TIMER_CANCEL_ON_SET != 0
	x.set(t, value, interval, absolutely)
	if r.R10 != 0 && !poke(t.tid, r.R10, before) {
		return t.errs(unix.EFAULT)
	}
	return t.gives(0)
}

func (t *thread) timerfdGettime() outcome {
	x, own, err := t.timer(t.regs.Rdi)
	if err != 0 {
		return t.errs(err)
	}
	unix.Close(own)
	if !poke(t.tid, t.regs.Rsi, x.setting()) {
		return t.errs(unix.EFAULT)
	}
	return t.gives(0)
}

// timerSpec reads an itimerspec from a process's memory.
func (t *thread) timerSpec(at uint64) (value, interval int64, err unix.Errno) {
	if !peek(t.tid, at, make([]byte, 32)) {
		return 0, 0, unix.EFAULT
	}
	interval, ok := t.timespec(at)
	value, alsoOK := t.timespec(at + 16)
	if !ok || !alsoOK {
		return 0, 0, unix.EINVAL
	}
	return value, interval, 0
}

// set starts the timer, or stops it if value is 0.
func (x *countdown) set(t *thread, value, interval int64, absolutely bool) {
	b := t.relative(value)
	if absolutely {
		b = absolute(x.day, value)
	}
	x.wall, x.at = b.wall, b.at
	x.armed, x.interval, x.expired = value > 0, interval, false
}

// setting returns the interval and the remaining time, as an itimerspec. It restarts a periodic timer that has expired.
func (x *timer) setting() []byte {
	x.forward()
	var left int64
	if x.armed && !x.expired {
		left = max(x.at-x.reading(), 1)
	}
	return append(seconds(x.interval, 1), seconds(left, 1)...)
}

// reading returns the current time on the same scale as x.at. It is the wall clock time or, if x.wall is false, how far
// the process's clock has advanced.
func (x *countdown) reading() int64 {
	if x.wall {
		return x.p.clock.realtime(x.p.m.now)
	}
	return x.p.clock.advance(x.p.m.now)
}

// forward restarts a periodic timer that has expired, and counts the intervals that have passed since it expired.
func (x *timer) forward() {
	if !x.expired || x.interval == 0 {
		return
	}
	n := max(x.reading()-x.at, 0) / x.interval
	x.count += uint64(n)
	x.at += (n + 1) * x.interval
	x.expired = false
}

// due returns the time at which the timer expires. ok is false if the timer is not running.
func (x *countdown) due() (at int64, ok bool) {
	return x.p.due(x.wall, x.at, x.p.m.now), x.armed && !x.expired
}

// expires marks the timer as expired if it is due.
func (x *timer) expires() {
	if at, runs := x.due(); runs && at <= x.p.m.now {
		x.expired = true
		x.count++
		x.rings()
	}
}

// rings makes the timerfd readable.
func (x *timer) rings() {
	x.special.rings()
	x.p.recheck()
}

// jumped handles a wall clock jump.
func (x *timer) jumped() {
	if x.cancels {
		x.canceled = true
		x.rings()
	}
}

// read handles a read of a timerfd, or makes the thread wait. fd is a duplicate of the descriptor, which read closes.
func (x *timer) read(t *thread, fd int) outcome {
	to, size, ok := t.buffer()
	if !ok {
		unix.Close(fd)
		return t.errs(unix.ENOTSOCK)
	}
	give := func() bool {
		switch {
		case x.canceled:
			x.canceled, x.count, x.expired = false, 0, false
			drain(fd)
			t.finish(-int64(unix.ECANCELED))
			return true
		case x.count == 0:
			return false
		}
		x.forward()
		drain(fd)
		n := x.count
		if x.count = 0; x.expired {
			x.expired, x.armed = false, false
		}
		if !poke64(t.tid, to, n) {
			t.finish(-int64(unix.EFAULT))
			return true
		}
		t.finish(8)
		return true
	}
	flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	switch {
	case size < 8:
		unix.Close(fd)
		return t.errs(unix.EINVAL)
	case give():
		unix.Close(fd)
		return answered
	case flags&unix.O_NONBLOCK != 0:
		unix.Close(fd)
		return t.errs(unix.EAGAIN)
	}
	return t.blocks(block{fds: []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}},
		ready: func(bool) bool { return give() }})
}
