//go:build unix

// Package processor measures processor time. It reflects the cost of work more reliably than wall-clock time, which
// depends on how busy the machine is.
package processor

import (
	"syscall"
	"time"
)

// Time returns the user and system time that this process has used so far on all cores.
func Time() time.Duration { return usedBy(syscall.RUSAGE_SELF) }

// WithChildren returns the processor time that this process and its children have used. Children that are still running
// do not count.
func WithChildren() time.Duration { return Time() + usedBy(syscall.RUSAGE_CHILDREN) }

func usedBy(who int) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(who, &used); err != nil {
		panic(err) // this call should never fail
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
