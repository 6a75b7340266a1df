package scenarios

import (
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/sim"
)

// shortestPeriod is the least time between two turns of what goes on for as long as a hold, a wait or a run lasts: the next try
// for a lock or an answer, the next extension, the next look at a master. What turns faster spends the run on itself.
const shortestPeriod = time.Millisecond

// period reads the time between two such turns.
func (r *reader) period(n ast.Node) (time.Duration, bool) {
	d, ok := r.duration(n)
	if ok && d < shortestPeriod {
		r.problem(startOf(n), shortestPeriod.String(), "this recurs throughout a run and must be at least %v, found %v", shortestPeriod, d)
		return 0, false
	}
	return d, ok
}

// pause reads such a time that is drawn anew each turn.
func (r *reader) pause(n ast.Node) (sim.Delay, bool) {
	d, ok := r.delay(n)
	if ok && d.Hi < shortestPeriod {
		r.problem(startOf(n), shortestPeriod.String(), "this recurs throughout a run and must be at least %v, or a range that ends there or later",
			shortestPeriod)
		return sim.Delay{}, false
	}
	return d, ok
}
