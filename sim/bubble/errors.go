package bubble

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// StuckError reports calls of a guest that did not return although the run was over.
type StuckError struct {
	Calls    []string // as "Lock of client-1"
	Patience time.Duration
}

// Error names the calls.
func (e *StuckError) Error() string {
	return fmt.Sprintf("%s did not return within %v after its context was cancelled and its connections were broken",
		strings.Join(e.Calls, ", "), e.Patience)
}

func panicked(client sim.ProcessID, what string, value any) error {
	return fmt.Errorf("%s of %s: panic: %v\n%s", what, client, value, debug.Stack())
}
