package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

// ShrinkError reports a violation that could not be shrunk, and why, for example because the -timeout limit was
// reached.
type ShrinkError struct {
	Law   checker.Law
	Cause checker.Cause
	Seed  uint64
	Why   string
}

// Error names the violation and says why it was not shrunk.
func (e *ShrinkError) Error() string {
	return fmt.Sprintf("%s (%s, seed %d) was not shrunk: %s", e.Law, e.Cause, e.Seed, e.Why)
}

// longestSaid is the maximum length of an error message in a report, in characters.
const longestSaid = 100

// said returns the first line of an error message for a report. It shortens the line and replaces control characters.
func said(err error) string {
	line, _, more := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	text := []rune(strings.Map(func(c rune) rune {
		if history.Unprintable(c) || c == utf8.RuneError {
			return '?'
		}
		return c
	}, strings.TrimSpace(line)))
	if more || len(text) > longestSaid {
		text = append(text[:min(len(text), longestSaid)], '…')
	}
	return cmp.Or(string(text), "an error without words")
}

// unanswered reports whether a library's error means that the servers did not answer. In that case, it is unknown
// whether they carried out the request.
func unanswered(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, io.EOF)
}
