package checker

import (
	"github.com/fencepost-sim/fencepost/checker/linear"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// judge is what the laws read: a history as it is told from its trace.
type judge struct {
	trace.Trace
	mutexOps []linear.MutexOp // of the lock under way
	spared   []int            // indexes of the events at which faults struck that are no reason: see suspects.go
}
