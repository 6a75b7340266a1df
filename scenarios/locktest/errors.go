package locktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/fencepost-sim/fencepost/checker"
)

// ShrinkError reports a breach that could not be cut down.
type ShrinkError struct {
	Law   checker.Law
	Cause checker.Cause
	Seed  uint64
	Why   string
}

// Error says which breach it was, and why it was not cut down.
func (e *ShrinkError) Error() string {
	return fmt.Sprintf("%s, %s, of seed %d was not cut down: %s", e.Law, e.Cause, e.Seed, e.Why)
}

// unanswered reports whether an error of a library says that the servers did not answer, so that nothing is known of
// what they did.
func unanswered(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, io.EOF)
}
