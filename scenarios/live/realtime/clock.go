package realtime

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// HostClock is a clock that follows the host's monotonic clock. It needs Linux.
type HostClock struct {
	begin time.Time
	timer *timer
}

// NewHostClock returns a clock that shows zero now. It returns an error if the process has no file descriptors left.
func NewHostClock() (*HostClock, error) {
	t, err := newTimer()
	return &HostClock{time.Now(), t}, err
}

// HostClockSince returns a clock that shows zero at the given time of the host's monotonic clock. The Monotonic method
// of a clock in another process returns such a time.
func HostClockSince(monotonic int64) (*HostClock, error) {
	c, err := NewHostClock()
	c.begin = c.begin.Add(time.Duration(monotonic - c.Monotonic()))
	return c, err
}

// Close closes the clock's timer.
func (c *HostClock) Close() { c.timer.close() }

// Begin returns the instant at which the clock showed zero.
func (c *HostClock) Begin() time.Time { return c.begin }

// Monotonic returns the time on the host's monotonic clock (CLOCK_MONOTONIC) at which this clock showed zero, in ns. It
// is valid in all processes on the host.
func (c *HostClock) Monotonic() int64 { return process.Monotonic() - int64(time.Since(c.begin)) }

// Now returns the time since the clock's zero.
func (c *HostClock) Now() sim.Time { return history.Of(time.Since(c.begin)) }

// Wait returns after d, or earlier if it receives from wake.
func (c *HostClock) Wait(d time.Duration, wake <-chan struct{}) {
	c.timer.set(d)
	select {
	case <-c.timer.rang:
	case <-wake:
	}
}
