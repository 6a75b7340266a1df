//go:build !linux

package realtime

import (
	"errors"
	"time"
)

// timer needs Linux.
type timer struct{ rang chan struct{} }

func newTimer() (*timer, error) { return nil, errors.New("a run in real time needs Linux") }

func (t *timer) close() {}

func (t *timer) set(time.Duration) {}
