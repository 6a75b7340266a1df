//go:build !linux

package remote

import (
	"os"
	"syscall"
)

// quit makes a worker dump its goroutines and end.
func quit(worker *os.Process) error { return worker.Signal(syscall.SIGQUIT) }

// memory is not known here.
func memory(*os.ProcessState) int64 { return 0 }

// usageOf is not known here.
func usageOf(int) usage { return usage{} }
