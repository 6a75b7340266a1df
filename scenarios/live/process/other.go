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

// Start says that there is no keeper here.
func Start() (*Keeper, error) { return nil, errLinux }

// Folder is that of the run.
func (k *Keeper) Folder() string { return "" }

// Start says that nothing can be started here.
func (k *Keeper) Start(Command) (*Process, error) { return nil, errLinux }

// Close does nothing here.
func (k *Keeper) Close() error { return nil }

// PID is 0.
func (p *Process) PID() int { return 0 }

// Done is never closed.
func (p *Process) Done() <-chan struct{} { return nil }

// Status says that there was nothing.
func (p *Process) Status() Status { return Status{Err: errLinux} }

// Wait says that there was nothing.
func (p *Process) Wait() error { return errLinux }

// Stop says that there is nothing to stop.
func (p *Process) Stop() error { return errLinux }

// Cont says that there is nothing to continue.
func (p *Process) Cont() error { return errLinux }

// Kill says that there is nothing to kill.
func (p *Process) Kill() error { return errLinux }

// Terminate says that there is nothing to end.
func (p *Process) Terminate() error { return errLinux }
