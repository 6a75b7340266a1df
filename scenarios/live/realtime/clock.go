package realtime

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// HostClock is a clock that follows the host's monotonic clock. It requires Linux.
type HostClock struct {
	begin time.Time
	timer *timer
}

// NewHostClock returns a clock that shows zero now. It returns an error if the process is out of file descriptors.
func NewHostClock() (*HostClock, error) {
	t, err := newTimer()
	return &HostClock{time.Now(), t}, err
}

// HostClockSince returns a clock that showed zero at the given time on the host's monotonic clock, as returned by the
// Monotonic method of a clock in another process.
func HostClockSince(monotonic int64) (*HostClock, error) {
	c, err := NewHostClock()
	c.begin = c.begin.Add(time.Duration(monotonic - c.Monotonic()))
	return c, err
}

// Close closes the clock's timer.
func (c *HostClock) Close() { c.timer.close() }

// Begin returns the time at which the clock showed zero.
func (c *HostClock) Begin() time.Time { return c.begin }

// Monotonic returns the time on the host's monotonic clock (CLOCK_MONOTONIC) at which this clock showed zero, in ns. It
// is valid in all processes on the host.
func (c *HostClock) Monotonic() int64 { return process.Monotonic() - int64(time.Since(c.begin)) }

// Now returns the time since the clock showed zero.
func (c *HostClock) Now() sim.Time { return history.Of(time.Since(c.begin)) }

// Wait returns after d, or earlier if it receives from wake.
func (c *HostClock) Wait(d time.Duration, wake <-chan struct{}) {
	c.timer.set(d)
	select {
	case <-c.timer.rang:
	case <-wake:
	}
}
