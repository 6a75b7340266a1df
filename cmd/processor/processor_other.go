//go:build !unix

// Package processor measures the processor time of this process. On systems other than Unix, it uses the time since the
// process began instead.
package processor

import "time"

var started = time.Now()

// Time returns the time since the process began, because processor time is not available on this system.
func Time() time.Duration { return time.Since(started) }

// WithChildren returns the same value as Time.
func WithChildren() time.Duration { return Time() }
