//go:build !linux || !amd64

package traced

import (
	"errors"
	"net/netip"
	"time"
)

// errPlatform is the error that every function on this platform returns.
var errPlatform = errors.New("programs can run in virtual time only on Linux on x86-64: " +
	"on this machine, use fencepost live, which runs them in real time")

// Machine is not available on this platform.
type Machine struct{}

// Process is a process of a Machine.
type Process struct{}

// Conn is one of a Process's connections.
type Conn struct {
	To    netip.AddrPort
	State any
}

// Tracer is not available on this platform.
type Tracer struct{}

// NewTracer returns an error on this platform.
func NewTracer(int, time.Duration) (*Tracer, error) { return nil, errPlatform }

func tryTracing() error { return errPlatform }

// Start is not called on this platform.
func (*Machine) Start(Command) (*Process, error) { return nil, errPlatform }

// Now is not called on this platform.
func (*Machine) Now() time.Duration { return 0 }

// Run is not called on this platform.
func (*Machine) Run(time.Duration, func() bool) error { return errPlatform }

// Close is not called on this platform.
func (*Machine) Close() {}

// Name is not called on this platform.
func (*Process) Name() string { return "" }

// Pause is not called on this platform.
func (*Process) Pause() {}

// Resume is not called on this platform.
func (*Process) Resume() {}

// Kill is not called on this platform.
func (*Process) Kill() (lived bool) { return false }

// Jump is not called on this platform.
func (*Process) Jump(time.Duration) {}

// Drift is not called on this platform.
func (*Process) Drift(int64) {}

// Exited is not called on this platform.
func (*Process) Exited() (Exit, bool) { return Exit{}, true }

// Refused is not called on this platform.
func (*Process) Refused() []string { return nil }

// Waits is not called on this platform.
func (*Process) Waits() []string { return nil }

// Printed is not called on this platform.
func (*Process) Printed() []byte { return nil }

// Process is not called on this platform.
func (*Conn) Process() *Process { return nil }

// Open is not called on this platform.
func (*Conn) Open() {}

// Refuse is not called on this platform.
func (*Conn) Refuse(timedOut bool) {}

// Deliver is not called on this platform.
func (*Conn) Deliver([]byte) {}

// Finish is not called on this platform.
func (*Conn) Finish() {}

// Reset is not called on this platform.
func (*Conn) Reset() {}

// Close is not called on this platform.
func (*Tracer) Close() {}

// New is not called on this platform.
func (*Tracer) New(Options) *Machine { return nil }
