//go:build !linux

package remote

import (
	"os"
	"syscall"
	"time"
)

// quit makes a worker dump its goroutines and end.
func quit(worker *os.Process) error { return worker.Signal(syscall.SIGQUIT) }

// memory returns 0, because peak memory use is unknown on this system.
func memory(*os.ProcessState) int64 { return 0 }

// spentBy returns 0, because processor time is unknown on this system.
func spentBy(int) time.Duration { return 0 }

// usageOf returns the zero usage, because usage is unknown on this system.
func usageOf(int) usage { return usage{} }
