// Package process starts the programs of a live run and makes sure that none of them outlives it.
//
// The keeper is a second process. To start it, the program executes itself, and [Main] takes over in the new process.
// The keeper adopts all processes that its children leave behind (PR_SET_CHILD_SUBREAPER), and reads its orders from a
// pipe. The pipe closes when the run is over or its process is killed, even by kill -9. Then the keeper kills all its
// descendants, deletes the folder that it has created, and ends. A run therefore leaves nothing behind, however it
// ends, unless the keeper itself is killed by kill -9. In that case, the processes that it started directly die with it
// (PR_SET_PDEATHSIG), and the next run deletes the folder.
//
// A [Daemon] is a server program that runs in its own folder, as one process after another. A preloaded library
// (LD_PRELOAD, preload/shim.c; [Shim]) simulates faults of the process's machine: clocks that jump and drift, and slow
// fsyncs. The library also records how much of an append-only file is on disk, so that a power loss can remove the rest
// ([Disk]). In a Java program, waits use the kernel's clocks, so only its wall clock can be changed, and only by jumps.
//
// This package runs in real time, with processes, signals and files, and compiles the library with gcc. It needs Linux;
// on other systems, [Start] returns an error.
//
// Goals: a stop is reported only when every thread has stopped, and a kill only when the process has ended; a pause
// also stops a process that is started during it. Non-goals: resource limits, namespaces and users; what a program
// serves and whether it is ready. [Process.Stop] does not stop a descendant that has left the process group of its
// command, but the keeper kills it at the end.
package process

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// Command is a program to start, in its own process group.
type Command struct {
	// the program's path; if it is empty, Args[0] is looked up in this process's PATH, unless it contains a slash
	Path string
	Args []string // name of the program, and its arguments
	Env  []string // complete environment, in the form "NAME=value"
	Dir  string   // working directory; empty: the keeper's folder
	Log  string   // file or FIFO to which standard output and error are appended; empty: they are discarded
	// Output, if set, receives standard output and standard error, and Log is ignored. Output.Write is called on a
	// separate goroutine. Standard input is empty.
	Output io.Writer `json:"-"`
}

// status describes how a command ended.
type status struct {
	Code   int            // the exit status; -1 if a signal ended the command
	Signal syscall.Signal // the signal that ended the command, or 0
	Err    error          // set if the keeper is gone, together with everything that it started
}

// String describes how the command ended.
func (s status) String() string {
	switch {
	case s.Err != nil:
		return s.Err.Error()
	case s.Signal != 0:
		return fmt.Sprintf("was ended by signal %d (%v)", int(s.Signal), s.Signal)
	}
	return fmt.Sprintf("ended with exit status %d", s.Code)
}

// ErrGone reports that the keeper process has ended, along with all processes that it started.
var ErrGone = errors.New("the supervisor of the run's processes has ended, and so have these processes")

// ErrEnded reports that a command has already ended and so cannot be stopped or resumed.
var ErrEnded = errors.New("the process has ended")

// LateError reports that programs were not ready in time, as may happen on an overloaded host.
type LateError struct{ Err error }

// Error returns the names of the programs and the time limit.
func (e *LateError) Error() string { return e.Err.Error() }

// variable is the environment variable that makes a process of this program a keeper.
const variable = "FENCEPOST_KEEPER"

// order is a command to the keeper, and report is the keeper's answer. Each is a line of JSON.
type order struct {
	ID      uint64
	Do      string // start, stop, cont, kill, term
	PID     int    // the process that the order is about; not set for start
	Command *Command
}

type report struct {
	ID    uint64 // the order that the report answers; 0: a command has ended, or the keeper is ready or has failed
	PID   int
	Error string
	Ended bool // whether the process that the order was about has ended
	Exit  *exit
	// Folder is set only in the first report.
	Folder string
}

type exit struct{ Code, Signal int }
