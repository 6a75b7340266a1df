package linear

import (
	"fmt"

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

// mutexState is 0 while nobody is inside, 2n while n sections share the lock, and 2s+1 while section s holds it
// exclusively. Small numbers need no allocation when porcupine stores them in interfaces.
type mutexState int

func mutexStep(s mutexState, op *MutexOp) (mutexState, bool) {
	alone := mutexState(2*op.Section + 1)
	switch {
	case op.Enter && op.Shared:
		return s + 2, s%2 == 0
	case op.Enter:
		return alone, s == 0
	case op.Shared:
		return s - 2, s%2 == 0 && s > 0
	default:
		return 0, s == alone
	}
}

// MutexEvidence asks a single question about all operations on a lock with the given number of permits, and keeps what
// is needed to draw the answer.
func MutexEvidence(ops []MutexOp, permits int) *Evidence {
	m := mutexModel(permits, nil)
	m.DescribeOperation = func(input, _ any) string { return input.(*MutexOp).describe() }
	m.DescribeState = func(state any) string {
		if s, several := state.(holders); several {
			return s.describe(ops)
		}
		return state.(mutexState).describe(ops)
	}
	return evidence(m, func(b *budget) porcupine.Model { return mutexModel(permits, b) },
		appendMutexOperations(nil, ops))
}

// mutexModel returns the model of a lock: of a mutex if it has one permit, otherwise of a semaphore.
func mutexModel(permits int, b *budget) porcupine.Model {
	if permits > 1 {
		return model("", semaphoreStep(permits), b)
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
	switch {
	case s == 0:
		return "free"
	case s%2 == 0:
		return fmt.Sprintf("shared by %d", s/2)
	}
	for i := range ops {
		if ops[i].Section == int(s/2) {
			return "held by " + ops[i].name()
		}
	}
	return fmt.Sprintf("held by section %d", s/2)
}
