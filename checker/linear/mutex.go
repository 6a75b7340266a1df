package linear

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// MutexOp is one operation on a critical section: entering or leaving it. The owner of the lock is the section, not the
// process, because one process may be in two sections at once.
type MutexOp struct {
	Section int // number of the section, counted per lock, from 0
	Enter   bool
	Shared  bool // sections that are both shared may overlap
	Client  int  // the client in whose row it is drawn, from 0
	Name    string
	// Call and Return are event positions; the operation takes effect between them. No two operations share a position,
	// except the leaves that return Forever: they are called by a crash, at the first position at which the crash may
	// have happened.
	Call, Return int64
}

// mutexState is 0 while nobody is inside, and s+1 while section s is. Small numbers need no allocation when porcupine
// stores them in interfaces.
type mutexState int

// mutexStep is the step of a mutex without shared sections.
func mutexStep(s mutexState, op *MutexOp) (mutexState, bool) {
	own := mutexState(op.Section + 1)
	if op.Enter {
		return own, s == 0
	}
	return 0, s == own
}

// MutexEvidence asks a single question about all operations on a lock with the given number of permits, and keeps what
// is needed to draw the answer.
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

// admitsSeveral reports whether several sections may be inside at once: those that share the lock, or the holders of
// several permits.
func admitsSeveral(ops []MutexOp, permits int) bool {
	return permits > 1 || slices.ContainsFunc(ops, func(op MutexOp) bool { return op.Shared })
}

// mutexModel returns the model of a lock with a number of permits that admits several sections at once, or only one.
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

// nameOf returns the name of a section.
func nameOf(ops []MutexOp, section int) string {
	for i := range ops {
		if ops[i].Section == section {
			return ops[i].name()
		}
	}
	return fmt.Sprintf("section %d", section)
}
