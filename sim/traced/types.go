package traced

import (
	"fmt"
	"net/netip"
	"runtime"
	"time"
)

// Options are a machine's settings.
type Options struct {
	Seed    uint64
	Network Network
	// Wall is the time that the wall clocks show at virtual time 0, in ns since the Unix epoch.
	Wall int64
	// Record, if set, is called with each modeled system call, in order.
	Record func(Call)
}

// Network handles the processes' connections. Its methods are called while the process is stopped, and may call methods
// of its connections.
type Network interface {
	// Dialed reports a connection attempt. The attempt ends when Open or Refuse is called on the connection, possibly
	// by Dialed itself.
	Dialed(c *Conn)
	// Wrote reports bytes that the process has written. b is valid only until Wrote returns.
	Wrote(c *Conn, b []byte)
	// Closed reports that the process has closed its end, or has ended.
	Closed(c *Conn)
	// Exited reports that the first process in a family has ended, unless [Process.Kill] killed it.
	Exited(p *Process)
}

// Command specifies the program that a process runs.
type Command struct {
	Name string   // name of the process, used in errors and records, and the name of its host
	Path string   // path of the program; if empty, Args[0] is looked up in the PATH of Env
	Args []string // arguments, including the name of the program
	Env  []string
	Dir  string
	// Scratch is the folder that the process may write to. If it is empty, the process cannot write to any file.
	Scratch string
}

// Call is a modeled system call, or something else that the machine did for a thread.
type Call struct {
	At      time.Duration // virtual time
	Process string
	Thread  int // ID of the thread, as the process sees it
	Name    string
	Result  int64
}

// String formats the call as one line.
func (c Call) String() string {
	return fmt.Sprintf("%v %s/%d %s = %d", c.At, c.Process, c.Thread, c.Name, c.Result)
}

// ProgramError reports that a program did something that cannot be done in virtual time.
type ProgramError struct {
	Process string
	Thread  int
	Call    string // name of the system call; empty if the error does not concern one
	Problem string
}

// Error names the process and says what it did.
func (e *ProgramError) Error() string { return e.Process + " " + e.Does() }

// Does says what the process did, without naming the process.
func (e *ProgramError) Does() string {
	if e.Call == "" {
		return fmt.Sprintf("%s (in thread %d)", e.Problem, e.Thread)
	}
	return fmt.Sprintf("calls %s in thread %d, %s", e.Call, e.Thread, e.Problem)
}

// StartError reports that a process could not be started.
type StartError struct {
	Process string
	Err     error
}

// Error says which process could not be started, and why.
func (e *StartError) Error() string { return e.Process + " could not be started: " + e.Err.Error() }

// state says whether a connection is being opened, is open, could not be opened, or is closed.
type state uint8

const (
	dialing state = iota
	open
	failed // the connection could not be opened
	over   // closed by the process, or by Reset
)

// Exit says how a process ended.
type Exit struct {
	Code   int
	Signal string // empty if the process ended on its own
}

// String describes the exit in words.
func (e Exit) String() string {
	if e.Signal != "" {
		return fmt.Sprintf("was ended by the signal %s", e.Signal)
	}
	return fmt.Sprintf("ended with status %d", e.Code)
}

// unspecified is the address that a socket without an address reports.
var unspecified = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)

// Allowed returns nil if the host allows programs to be traced. Otherwise it returns an error that says why not and
// what to do about it.
func Allowed() error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		result <- tryTracing()
	}()
	return <-result
}
