//go:build !linux

package remote

import (
	"os"
	"syscall"
	"time"
)

// quit makes a worker dump its goroutines and end.
func quit(worker *os.Process) error { return worker.Signal(syscall.SIGQUIT) }

// memory returns 0: the peak memory use is not known on this system.
func memory(*os.ProcessState) int64 { return 0 }

// spentBy returns 0, because the processor time that a process has used is not known on this system.
func spentBy(int) time.Duration { return 0 }

// usageOf returns the zero usage, because a process's usage is not known on this system.
func usageOf(int) usage { return usage{} }
