package realtime

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// HostClock is the host's monotonic clock. Its waits end by a timer of the kernel's (timerfd): when nothing else
// happens, Go's own round to whole ms, which is as long as a link takes.
type HostClock struct {
	begin time.Time
	timer *os.File
	fd    int           // the timer's
	rang  chan struct{} // has one element if the timer has expired
}

// NewHostClock makes a clock that counts from now. The error is the kernel's, if it has no more file descriptors.
func NewHostClock() (*HostClock, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	c := &HostClock{begin: time.Now(), timer: os.NewFile(uintptr(fd), "timerfd"), fd: fd, rang: make(chan struct{}, 1)}
	go c.listen()
	return c, nil
}

// listen signals each time that the timer expires, until the clock is closed.
func (c *HostClock) listen() {
	var times [8]byte
	for {
		if _, err := c.timer.Read(times[:]); err != nil {
			return
		}
		select {
		case c.rang <- struct{}{}:
		default:
		}
	}
}

// Close ends the clock's timer.
func (c *HostClock) Close() { c.timer.Close() }

// HostClockSince makes a clock that counts from an instant of the host's monotonic clock, as returned by Monotonic of a
// clock of another process.
func HostClockSince(monotonic int64) (*HostClock, error) {
	c, err := NewHostClock()
	if err == nil {
		c.begin = c.begin.Add(time.Duration(monotonic - c.Monotonic()))
	}
	return c, err
}

// Begin is the instant at which the clock showed zero.
func (c *HostClock) Begin() time.Time { return c.begin }

// Monotonic is the value of the host's monotonic clock (CLOCK_MONOTONIC) then, in ns. It is the same for all processes.
func (c *HostClock) Monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // every Linux has it
	}
	return t.Nano() - int64(time.Since(c.begin))
}

// Now is the time since the clock's zero.
func (c *HostClock) Now() sim.Time { return history.Of(time.Since(c.begin)) }

// Wait lets d pass, or less.
func (c *HostClock) Wait(d time.Duration, wake <-chan struct{}) {
	ring := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(d), 1))}
	if err := unix.TimerfdSettime(c.fd, 0, &ring, nil); err != nil {
		panic(err) // no wait is negative
	}
	select {
	case <-c.rang:
	case <-wake:
	}
}
