package locktest

import (
	"context"
	"errors"
	"io"
	"net"
)

// unanswered reports whether an error of a library says that the servers did not answer, so that nothing is known of what
// they did.
func unanswered(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, io.EOF)
}
