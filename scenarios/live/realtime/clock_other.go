//go:build !linux

package realtime

import (
	"errors"
	"time"
)

// timer does nothing. It exists only so that the package compiles on systems other than Linux.
type timer struct{ rang chan struct{} }

func newTimer() (*timer, error) {
	return nil, errors.New("runs in real time are possible only on Linux")
}

func (t *timer) close() {}

func (t *timer) set(time.Duration) {}
