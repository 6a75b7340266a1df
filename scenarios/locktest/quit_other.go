//go:build !linux

package locktest

import (
	"os"
	"syscall"
)

// quit has a worker dump its goroutines and end.
func quit(worker *os.Process) error { return worker.Signal(syscall.SIGQUIT) }
