package process

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// Daemon is a server program that runs in its own folder. Its log is next to that folder.
type Daemon struct {
	Keeper *Keeper
	Name   sim.ProcessID
	Folder string
	Args   []string // the program and its arguments
	Env    []string // the complete environment
	Shim   *Shim    // the library loaded into the program; nil: none

	mu      sync.Mutex
	process *Process
	held    bool
}

// Start starts a process. If the daemon is paused, the new process is paused immediately. The previous process must
// have ended.
func (d *Daemon) Start() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.Shim.begin(); err != nil {
		return err
	}
	d.process, err = d.Keeper.Start(Command{Args: d.Args, Env: append(d.Env, d.Shim.environment()...), Dir: d.Folder,
		Log: d.log()})
	if err == nil && d.held {
		err = d.process.Stop()
	}
	return err
}

// running returns the most recent process, or nil if there has been none.
func (d *Daemon) running() *Process {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.process
}

// PID returns the most recent process's ID, or 0 if there has been none.
func (d *Daemon) PID() int {
	if p := d.running(); p != nil {
		return p.pid
	}
	return 0
}

// Ended returns a channel that is closed once the most recent process has ended, or nil if there has been no process.
func (d *Daemon) Ended() <-chan struct{} {
	if p := d.running(); p != nil {
		return p.done
	}
	return nil
}

// Hold pauses or resumes the process. A process that is started during a pause is paused immediately.
func (d *Daemon) Hold(on bool) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = on
	switch {
	case d.process == nil:
	case on:
		err = d.process.Stop()
	default:
		err = d.process.Cont()
	}
	if errors.Is(err, ErrEnded) {
		return nil // a process that has ended need not be stopped
	}
	return err
}

// Kill kills the process and returns once it has ended.
func (d *Daemon) Kill() {
	if p := d.running(); p != nil {
		_ = p.Kill() // this fails if the process has already ended, by itself or with the keeper
	}
}

// ShutDown asks the process to end, and repeats the request at the given interval. If the process is still running
// after patience, ShutDown kills it.
func (d *Daemon) ShutDown(patience, again time.Duration) {
	p := d.running()
	if p == nil || p.Cont() != nil {
		return
	}
	defer d.Kill()
	for end := time.Now().Add(patience); time.Now().Before(end) && p.terminate() == nil; {
		select {
		case <-p.done:
			return
		case <-time.After(min(again, time.Until(end))):
		}
	}
}

func (d *Daemon) log() string { return d.Folder + ".log" }

// errDied reports that a process ended on its own.
var errDied = errors.New("ended by itself")

// Died returns an error that says how the process ended on its own, and includes the end of its log.
func (d *Daemon) Died() error {
	return fmt.Errorf("%s: %s %w: it %v%s", d.Name, d.Args[0], errDied, d.running().ended(), d.LastWords())
}

// Await calls ready repeatedly until it reports that a started process is ready, or until stop is closed. It returns an
// error if the process has ended. If the process is not ready within patience, it returns a [LateError]. failure is a
// phrase for this error that says what is wrong, for example "does not listen".
func (d *Daemon) Await(ready func() bool, failure string, patience, every time.Duration, stop <-chan struct{}) error {
	for end := time.Now().Add(patience); !ready(); {
		select {
		case <-d.Ended():
			return d.Died()
		case <-stop:
			return nil
		case <-time.After(every):
		}
		if time.Now().After(end) {
			return &LateError{Err: fmt.Errorf("%s: %s %s within %v of its start%s", d.Name, d.Args[0], failure,
				patience, d.LastWords())}
		}
	}
	return nil
}

// LastWords returns the last lines of the log, in a form that can be added to a sentence.
func (d *Daemon) LastWords() string {
	const most = 5
	b, err := os.ReadFile(d.log())
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if err != nil || len(b) == 0 {
		return ", and printed nothing"
	}
	return "; it printed\n  " + strings.Join(lines[max(len(lines)-most, 0):], "\n  ")
}
