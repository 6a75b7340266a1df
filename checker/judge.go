package checker

import (
	"github.com/fencepost-sim/fencepost/checker/linear"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// judge is what the laws read: a history and its trace.
type judge struct {
	trace.Trace
	mutexOps []linear.MutexOp                     // of the lock under way
	parts    linear.Parts                         // the parts in which porcupine is asked
	instead  func([]linear.MutexOp) linear.Answer // in tests, called in place of porcupine
	known    Known                                // facts about faults, established by trials
	silent   bool                                 // no key of the lock was set while somebody was stuck
	refused  bool                                 // the operation that a story is about was not slow, but refused
}
