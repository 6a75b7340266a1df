package linear

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// MutexOp is one step of a critical section: entering or leaving it. The owner is the section, not the process, since
// one process may be in two sections at once.
type MutexOp struct {
	Section int // from 0, of one lock
	Enter   bool
	Shared  bool // sections that are both shared may overlap
	Client  int  // the client on whose line it is drawn, from 0
	Name    string
	// Call and Return are event positions: it took effect between them. No two operations share one, but those that
	// return Forever: a crash calls them, from the position on at which it may have happened.
	Call, Return int64
}

// mutexState is 0 while nobody is inside, 2n while n share it, 2s+1 while section s has it to itself. Small numbers
// cost no allocation when porcupine boxes them.
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

// MutexEvidence asks about all operations at once, as Parts does, and keeps what is needed to draw the answer.
func MutexEvidence(ops []MutexOp) *Evidence {
	m := model(0, mutexStep, nil)
	m.DescribeOperation = func(input, _ any) string { return input.(*MutexOp).describe() }
	m.DescribeState = func(state any) string { return state.(mutexState).describe(ops) }
	return evidence(m, func(b *budget) porcupine.Model { return model(0, mutexStep, b) },
		appendMutexOperations(nil, ops))
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
