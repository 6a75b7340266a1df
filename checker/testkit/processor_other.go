//go:build !unix

package testkit

import "time"

var started = time.Now()

// ProcessorTime is the time since the process began: its processor time is not available on this system.
func ProcessorTime() time.Duration { return time.Since(started) }
