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

// Exit codes of every command, as the README documents them.
const (
	exitExpected  = 0 // every law came out as the scenario expects
	exitOtherwise = 1 // some law came out otherwise
	ExitBadInput  = 2 // bad input or usage, or a server or worker that cannot be used; nothing ran
	exitUndecided = 3 // it ended before all was decided, and nothing came out otherwise so far
)

// ErrReported ends a command for a reason that a process of its own has reported already.
var ErrReported = errors.New("it is reported already")

// ExitCode is the exit code of a command that ended with an error, or nil. What a person must know of the error is
// written to problems, after the program's name. Undecided says of which errors the command decided nothing.
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
	case errors.As(err, &badFile), errors.As(err, &badPlan): // starts with its place, as editors expect
		fmt.Fprintln(problems, err)
	default:
		fmt.Fprintf(problems, "%s: %s\n", program, strings.TrimSpace(err.Error()))
	}
	return ExitBadInput
}
