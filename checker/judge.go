package checker

import (
	"github.com/fencepost-sim/fencepost/checker/linear"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// judge is what the laws read: a history as it is told from its trace.
type judge struct {
	trace.Trace
	mutexOps []linear.MutexOp                     // of the lock under way
	parts    linear.Parts                         // in which porcupine is asked
	instead  func([]linear.MutexOp) linear.Answer // in tests, asked in place of porcupine
	known    Known                                // of the faults, by trials
	silent   bool                                 // no key of the lock was set while somebody was stuck
	refused  bool                                 // the operation that a story is about was not slow, but refused
}
