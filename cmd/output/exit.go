package output

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// The exit codes of all commands, as documented in the README.
const (
	exitExpected  = 0 // everything is as the scenario expects
	exitOtherwise = 1 // something is not as the scenario expects
	ExitBadInput  = 2 // bad input or usage, or a server or worker that cannot be used; nothing was run
	exitUndecided = 3 // the command ended before everything was decided; nothing contradicts the expectation so far
)

// ErrReported ends a command with an error that another process has already reported.
var ErrReported = errors.New("already reported")

// ExitCode returns the exit code of a command that ended with err. If the error has not been reported yet, ExitCode
// writes a message to problems, which begins with the name of the program or with a position in an input file.
// undecided reports whether an error means that the command could not decide anything.
func ExitCode(err error, program string, problems io.Writer, undecided func(error) bool) int {
	var ended Ended
	var badFile *format.Error
	var badPlan *nemesis.PlanError
	switch {
	case err == nil:
		return exitExpected
	case errors.As(err, &ended) && document.Result(ended) == document.Failed:
		return exitOtherwise
	case errors.As(err, &ended):
		return exitUndecided
	case undecided(err):
		fmt.Fprintf(problems, "%s: %s\n", program, err)
		return exitUndecided
	case errors.Is(err, ErrReported):
	case errors.As(err, &badFile), errors.As(err, &badPlan): // the message begins with a position, as editors expect
		fmt.Fprintln(problems, err)
	default:
		fmt.Fprintf(problems, "%s: %s\n", program, strings.TrimSpace(err.Error()))
	}
	return ExitBadInput
}
