//go:build !linux || !amd64

package traced

import (
	"errors"
	"net/netip"
	"time"
)

// errPlatform is the error of every machine on this platform.
var errPlatform = errors.New("programs run in virtual time on Linux on x86-64 only: use live here, which runs them in " +
	"real time")

// Machine cannot be made on this platform.
type Machine struct{}

// Process is a process of a Machine.
type Process struct{}

// Conn is a connection of a Process.
type Conn struct {
	To    netip.AddrPort
	State any
}

// New returns an error on this platform.
func New(Options) (*Machine, error) { return nil, errPlatform }

// The other methods are never called on this platform.

func (*Machine) Start(Command) (*Process, error)      { return nil, errPlatform }
func (*Machine) Now() time.Duration                   { return 0 }
func (*Machine) Run(time.Duration, func() bool) error { return errPlatform }
func (*Machine) Close()                               {}
func (*Process) Name() string                         { return "" }
func (*Process) Pause()                               {}
func (*Process) Resume()                              {}
func (*Process) Kill() (lived bool)                   { return false }
func (*Process) Jump(time.Duration)                   {}
func (*Process) Drift(int64)                          {}
func (*Process) Exited() (Exit, bool)                 { return Exit{}, true }
func (*Process) Printed() []byte                      { return nil }
func (*Conn) Process() *Process                       { return nil }
func (*Conn) Open()                                   {}
func (*Conn) Refuse(timedOut bool)                    {}
func (*Conn) Deliver([]byte)                          {}
func (*Conn) Finish()                                 {}
func (*Conn) Reset()                                  {}
