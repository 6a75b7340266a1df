//go:build unix

// Package processor measures processor time, which reflects the cost of work more reliably than wall-clock time.
// Wall-clock time depends on how busy the machine is.
package processor

import (
	"syscall"
	"time"
)

// Time returns the processor time that this process has used so far on all cores, user and system.
func Time() time.Duration { return usedBy(syscall.RUSAGE_SELF) }

// WithChildren returns the processor time that this process and its children have used. Children that have not ended do
// not count.
func WithChildren() time.Duration { return Time() + usedBy(syscall.RUSAGE_CHILDREN) }

func usedBy(who int) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(who, &used); err != nil {
		panic(err) // this call has no reason to fail
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
