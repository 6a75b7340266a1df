//go:build !unix

package testkit

import "time"

var started = time.Now()

// ProcessorTime is the time since the process began: what it has used of the processors is not known here.
func ProcessorTime() time.Duration { return time.Since(started) }
