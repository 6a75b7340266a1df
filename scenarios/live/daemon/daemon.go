// Package daemon is a server program of the host that is started, stopped and killed as a run wants it ([Daemon]), and
// the lives that a server of a simulated world has by it ([Lives]).
//
// This room runs in real time, with goroutines, processes and files. It touches the world on the world's goroutine
// only.
//
// Goals: one life after the other in the same folder; a pause holds also for what is started meanwhile; what is left of
// a life that is over changes nothing in the next. Non-goals: what the program serves, and whether it is ready to.
package daemon

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// Daemon is a server program in its folder. Its log stands beside that.
type Daemon struct {
	Keeper *process.Keeper
	Name   sim.ProcessID
	Folder string
	Args   []string // the program and its arguments
	Env    []string // all of its environment

	mu      sync.Mutex
	process *process.Process
	held    bool
}

// Start starts a process, stopped if it is to be. The one before must have ended.
func (d *Daemon) Start() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	log := d.log()
	d.process, err = d.Keeper.Start(process.Command{Args: d.Args, Env: d.Env, Dir: d.Folder, Stdout: log, Stderr: log})
	if err == nil && d.held {
		err = d.process.Stop()
	}
	return err
}

// running is the process that was started last; nil if none was.
func (d *Daemon) running() *process.Process {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.process
}

// PID is the number of the process that was started last; 0 if none was.
func (d *Daemon) PID() int {
	if p := d.running(); p != nil {
		return p.PID()
	}
	return 0
}

// Ended is closed once the process that was started last has ended; nil if none was.
func (d *Daemon) Ended() <-chan struct{} {
	if p := d.running(); p != nil {
		return p.Done()
	}
	return nil
}

// hold stops the process, or lets it go on; one that is started later too.
func (d *Daemon) hold(on bool) (err error) {
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
	if errors.Is(err, process.ErrEnded) {
		return nil // nothing is down longer than that
	}
	return err
}

// Kill kills the process, and returns once it has ended.
func (d *Daemon) Kill() {
	if p := d.running(); p != nil {
		_ = p.Kill() // whether or not it had ended; without the keeper it is gone as well
	}
}

// ShutDown asks the process to end, again each time that some time has passed, and kills it if it has not within its
// patience.
func (d *Daemon) ShutDown(patience, again time.Duration) {
	p := d.running()
	if p == nil || p.Cont() != nil {
		return
	}
	defer d.Kill()
	for end := time.Now().Add(patience); time.Now().Before(end) && p.Terminate() == nil; {
		select {
		case <-p.Done():
			return
		case <-time.After(min(again, time.Until(end))):
		}
	}
}

func (d *Daemon) log() string { return d.Folder + ".log" }

// errDied reports that a process has ended by itself.
var errDied = errors.New("ended by itself")

// Died says how the process ended by itself, and its last words.
func (d *Daemon) Died() error {
	return fmt.Errorf("%s: %s %w: it %v%s", d.Name, d.Args[0], errDied, d.running().Status(), d.LastWords())
}

// Late reports that the program does not do something within its patience, counted from its start, and its last words.
func (d *Daemon) Late(does string, patience time.Duration) error {
	return &process.LateError{Err: fmt.Errorf("%s: %s %s within %v of its start%s", d.Name, d.Args[0], does, patience,
		d.LastWords())}
}

// LastWords are the last lines of the log, as the end of a sentence.
func (d *Daemon) LastWords() string {
	const most = 5
	b, err := os.ReadFile(d.log())
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if err != nil || len(b) == 0 {
		return ", and said nothing"
	}
	return "; it said\n  " + strings.Join(lines[max(len(lines)-most, 0):], "\n  ")
}
