//go:build !linux

package realtime

import (
	"errors"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

var errLinux = errors.New("a run in real time needs Linux")

// HostClock is the host's monotonic clock; there is none here.
type HostClock struct{}

// NewHostClock reports that there is none here.
func NewHostClock() (*HostClock, error) { return nil, errLinux }

// HostClockSince reports that there is none here.
func HostClockSince(int64) (*HostClock, error) { return nil, errLinux }

// Close does nothing here.
func (c *HostClock) Close() {}

// Begin is no instant.
func (c *HostClock) Begin() time.Time { return time.Time{} }

// Monotonic is 0.
func (c *HostClock) Monotonic() int64 { return 0 }

// Now is 0.
func (c *HostClock) Now() sim.Time { return 0 }

// Wait does not wait.
func (c *HostClock) Wait(time.Duration, <-chan struct{}) {}
