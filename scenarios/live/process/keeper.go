// Package process starts the programs of a live run and makes sure that none of them outlives it.
//
// The keeper is a second process: the program executes itself, and [Main] takes over there. It adopts whatever its
// children leave behind (PR_SET_CHILD_SUBREAPER), and it reads its orders from a pipe. When that pipe ends, because the
// run is over or its process was killed, even by kill -9, the keeper kills all its descendants, deletes the folder that
// it has created, and ends. So nothing remains of a run, however it ends, unless the keeper itself is killed by kill
// -9: then the processes that it started directly die with it (PR_SET_PDEATHSIG), and the folder stays.
//
// A [Daemon] is a server program in a folder of its own, one process after another. The machine below it is controlled
// by a small library that is loaded into the process (LD_PRELOAD, preload/shim.c; [Shim]): clocks that jump and drift,
// and slow fsyncs. It also records how much of an append-only file is on disk, so that a loss of power can take away
// the rest ([Disk]). (A Java program waits by the clocks of the kernel: of its clocks only the wall clock may be moved,
// and that only by jumps.)
//
// This package runs in real time, with processes, signals and files, and compiles the library with gcc. It needs Linux;
// elsewhere [Start] returns an error.
//
// Goals: a stop is reported once every thread has stopped, a kill once the process has ended; a pause also holds for a
// process that is started meanwhile. Non-goals: limits, namespaces and users; what a program serves, and whether it is
// ready to. A descendant that leaves the process group of its command is not stopped by [Process.Stop]; it
// is killed with all others in the end.
package process

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// Command is a program to be started, in a process group of its own.
type Command struct {
	Path string   // of the program; empty: Args[0], looked up in PATH of this process unless it has a slash
	Args []string // the name of the program, and its arguments
	Env  []string // all of its environment: "NAME=value"
	Dir  string   // its working directory; empty: the keeper's folder
	Log  string   // a file to which its output and errors are appended, or a FIFO; empty: they are lost
	// Output, if set, receives both instead, on a goroutine of its own. Its input is empty.
	Output io.Writer `json:"-"`
}

// status says how a command ended.
type status struct {
	Code   int            // its exit status; -1 if a signal ended it
	Signal syscall.Signal // the signal that ended it, or 0
	Err    error          // the keeper is gone, and with it all that it started
}

// String describes it.
func (s status) String() string {
	switch {
	case s.Err != nil:
		return s.Err.Error()
	case s.Signal != 0:
		return fmt.Sprintf("was ended by signal %d (%v)", int(s.Signal), s.Signal)
	}
	return fmt.Sprintf("ended with exit status %d", s.Code)
}

// ErrGone reports that the keeper process has ended, and with it everything that it started.
var ErrGone = errors.New("the keeper of this run's processes is gone, and they with it")

// ErrEnded reports that a command had ended before it could be stopped or continued.
var ErrEnded = errors.New("the process has ended")

// LateError reports that programs were not ready in time, as happens on an overloaded host.
type LateError struct{ Err error }

// Error says which, and how long they had.
func (e *LateError) Error() string { return e.Err.Error() }

// variable makes a process of this program a keeper.
const variable = "FENCEPOST_KEEPER"

// order is a command to the keeper, and report its answer, a line of JSON each.
type order struct {
	ID      uint64
	Do      string // start, stop, cont, kill, term
	PID     int    // of a command that was started; not set for start
	Command *Command
}

type report struct {
	ID    uint64 // of the order that it answers; 0: a command ended, or the keeper is ready
	PID   int
	Error string
	Ended bool // Error belongs to a process that has ended
	Exit  *exit
	// Folder is in the first report of all.
	Folder string
}

type exit struct{ Code, Signal int }
