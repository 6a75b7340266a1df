package servers

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

// mostStarts is the maximum number of attempts to start a run.
const mostStarts = 3

// begun starts a run. If the servers or Fencepost's own clients are not ready in time, perhaps because the host is too
// busy, begun starts the run again, and the result's notes say so. If no start succeeds, the run is undecided, and the
// error is a *live.UndecidedError.
func begun(o *live.Options, run func() (*live.Result, error)) (*live.Result, error) {
	var delayed error
	for start := 1; ; start++ {
		result, err := run()
		var late *process.LateError
		switch {
		case result != nil && delayed != nil:
			why := strings.Join(strings.Fields(delayed.Error()), " ")
			result.Notes = append(result.Notes, fmt.Sprintf("the host delayed the start, "+
				"and only attempt %d succeeded: %s", start, why))
			return result, err
		case result != nil || !errors.As(err, &late) || o.Context.Err() != nil:
			return result, err
		case start == mostStarts:
			return nil, &live.UndecidedError{Delayed: true,
				Err: fmt.Errorf("the host delayed all %d attempts to start the servers: %w", mostStarts, err)}
		}
		if delayed = err; o.Again != nil {
			o.Again(err)
		}
	}
}
