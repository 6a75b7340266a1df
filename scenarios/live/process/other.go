//go:build !linux

package process

import "errors"

var errLinux = errors.New("programs can be started for a live run on Linux only")

// Keeper is a keeper process; there is none here.
type Keeper struct{}

// Process is a command that a keeper has started.
type Process struct{}

// Main does nothing here.
func Main() {}

// Start reports that there is no keeper here.
func Start() (*Keeper, error) { return nil, errLinux }

// Folder is the folder of the run.
func (k *Keeper) Folder() string { return "" }

// Start reports that nothing can be started here.
func (k *Keeper) Start(Command) (*Process, error) { return nil, errLinux }

// Close does nothing here.
func (k *Keeper) Close() error { return nil }

// PID is 0.
func (p *Process) PID() int { return 0 }

// Done is never closed.
func (p *Process) Done() <-chan struct{} { return nil }

// Status reports that there was no process.
func (p *Process) Status() Status { return Status{Err: errLinux} }

// Wait reports that there was no process.
func (p *Process) Wait() error { return errLinux }

// Stop reports that there is nothing to stop.
func (p *Process) Stop() error { return errLinux }

// Cont reports that there is nothing to continue.
func (p *Process) Cont() error { return errLinux }

// Kill reports that there is nothing to kill.
func (p *Process) Kill() error { return errLinux }

// Terminate reports that there is nothing to end.
func (p *Process) Terminate() error { return errLinux }
