package linear

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// MutexOp is one operation on a critical section: entering or leaving it. The lock's owner is the section, not the
// process, because a process may be in two sections at the same time.
type MutexOp struct {
	Section int // number of the section, starting from 0 for each lock
	Enter   bool
	Shared  bool // two sections may overlap if both are shared
	Client  int  // number of the client in whose row the operation is drawn, from 0
	Name    string
	// Call and Return are event positions. The operation takes effect between them. No position is used twice, with two
	// exceptions. If a leave's release never returned, or was never called, its Return is Forever. If a crash causes
	// several leaves, they have the same Call: the first position at which the crash may have happened.
	Call, Return int64
}

// mutexState is 0 if no critical section is open, and s+1 if section s is open. Small numbers need no allocation when
// porcupine stores them in interfaces.
type mutexState int

// mutexStep is the step function for a mutex without shared sections.
func mutexStep(s mutexState, op *MutexOp) (mutexState, bool) {
	own := mutexState(op.Section + 1)
	if op.Enter {
		return own, s == 0
	}
	return 0, s == own
}

// MutexEvidence checks all operations on a lock in a single call to porcupine; permits is the lock's number of permits.
// It keeps the data needed to draw a diagram of the result.
func MutexEvidence(ops []MutexOp, permits int) *Evidence {
	several := admitsSeveral(ops, permits)
	m := mutexModel(permits, several, nil)
	m.DescribeOperation = func(input, _ any) string { return input.(*MutexOp).describe() }
	m.DescribeState = func(state any) string {
		if s, several := state.(holders); several {
			return s.describe(ops)
		}
		return state.(mutexState).describe(ops)
	}
	return evidence(m, func(b *budget) porcupine.Model { return mutexModel(permits, several, b) },
		appendMutexOperations(nil, ops))
}

// admitsSeveral reports whether several sections may be open at the same time, either because they share the lock or
// because it has several permits.
func admitsSeveral(ops []MutexOp, permits int) bool {
	return permits > 1 || slices.ContainsFunc(ops, func(op MutexOp) bool { return op.Shared })
}

// mutexModel returns the model of a lock with the given number of permits. If several is true, more than one section
// may be open at a time.
func mutexModel(permits int, several bool, b *budget) porcupine.Model {
	if several {
		return model("", holdersStep(permits), b)
	}
	return model(0, mutexStep, b)
}

func appendMutexOperations(out []porcupine.Operation, ops []MutexOp) []porcupine.Operation {
	for i := range ops {
		op := &ops[i]
		out = append(out, porcupine.Operation{ClientId: op.Client, Input: op, Call: op.Call, Return: op.Return})
	}
	return out
}

func (op *MutexOp) describe() string {
	verb := "leave"
	if op.Enter {
		verb = "enter"
	}
	if op.Shared {
		verb += " shared"
	}
	return verb + " " + op.name()
}

func (op *MutexOp) name() string {
	if op.Name != "" {
		return op.Name
	}
	return fmt.Sprintf("section %d", op.Section)
}

func (s mutexState) describe(ops []MutexOp) string {
	if s == 0 {
		return "free"
	}
	return "held by " + nameOf(ops, int(s-1))
}

func nameOf(ops []MutexOp, section int) string {
	for i := range ops {
		if ops[i].Section == section {
			return ops[i].name()
		}
	}
	return fmt.Sprintf("section %d", section)
}
