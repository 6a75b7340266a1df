//go:build !linux

package remote

import (
	"os"
	"syscall"
)

// quit has a worker dump its goroutines and end.
func quit(worker *os.Process) error { return worker.Signal(syscall.SIGQUIT) }

// memory cannot be told here.
func memory(*os.ProcessState) int64 { return 0 }

// usageOf cannot be told here.
func usageOf(int) usage { return usage{} }
