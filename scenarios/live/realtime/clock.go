package realtime

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// HostClock is the host's monotonic clock. It needs Linux.
type HostClock struct {
	begin time.Time
	timer *timer
}

// NewHostClock makes a clock that counts from now. The error is the kernel's, if it has no more file descriptors.
func NewHostClock() (*HostClock, error) {
	t, err := newTimer()
	return &HostClock{time.Now(), t}, err
}

// HostClockSince makes a clock that counts from an instant of the host's monotonic clock, as returned by Monotonic of a
// clock of another process.
func HostClockSince(monotonic int64) (*HostClock, error) {
	c, err := NewHostClock()
	c.begin = c.begin.Add(time.Duration(monotonic - c.Monotonic()))
	return c, err
}

// Close ends the clock's timer.
func (c *HostClock) Close() { c.timer.close() }

// Begin is the instant at which the clock showed zero.
func (c *HostClock) Begin() time.Time { return c.begin }

// Monotonic is the value of the host's monotonic clock (CLOCK_MONOTONIC) then, in ns. It is the same for all processes.
func (c *HostClock) Monotonic() int64 { return process.Monotonic() - int64(time.Since(c.begin)) }

// Now is the time since the clock's zero.
func (c *HostClock) Now() sim.Time { return history.Of(time.Since(c.begin)) }

// Wait lets d pass, or less.
func (c *HostClock) Wait(d time.Duration, wake <-chan struct{}) {
	c.timer.set(d)
	select {
	case <-c.timer.rang:
	case <-wake:
	}
}
