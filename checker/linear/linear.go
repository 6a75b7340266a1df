// Package linear asks porcupine whether operations on a lock, or on the data behind it, are linearizable.
//
// Goals: the input is typed operations, the output is a plain answer or a drawing; none of porcupine's untyped values
// leave the package. Non-goals: knowing events or laws. Package checker decides what counts as an operation.
package linear

import (
	"math"

	"github.com/anishathalye/porcupine"
)

// Forever is the Return of an operation that has not returned. The operation may take effect at any time after its
// Call.
const Forever int64 = math.MaxInt64

// Answer is the result of a check.
type Answer uint8

// The zero Answer is never a pass.
const (
	Unknown      Answer = iota // the budget of steps ran out
	TooMany                    // there are more operations than one question to porcupine may have
	Linearizable               // some order of the operations explains what was observed
	Refuted                    // no order of the operations explains what was observed
)

// maxSteps is the maximum number of steps of the model in one check. Linearizability is NP-hard. The budget counts
// steps, not time, so that a history gets the same answer on every machine.
const maxSteps = 1 << 20

// Bounds on memory in bytes. maxMemory is what the steps of one check may take in total. A step takes stepMemory and
// one bit for each operation, because porcupine remembers every step that was possible.
const (
	maxMemory  = 256 << 20
	stepMemory = 200
)

// budget counts the steps of one check. Once it is used up, every step is refused, so that porcupine gives up soon.
type budget struct {
	left int // number of steps that may still be tried
	room int // number of steps that may still be remembered
}

// budgetFor returns the budget for a check of that many operations and at most that many steps.
func budgetFor(operations, steps int) budget {
	return budget{left: steps, room: maxMemory / (operations/8 + stepMemory)}
}

// spend reports whether another step may be tried.
func (b *budget) spend() bool {
	b.left--
	return b.left >= 0
}

// keep reports whether another step may be remembered. If not, no further steps may be tried either.
func (b *budget) keep() bool {
	if b.room--; b.room < 0 {
		b.left = -1
	}
	return b.room >= 0
}

func (b *budget) answer(ok bool) Answer {
	switch {
	case ok:
		return Linearizable
	case b.left < 0:
		return Unknown
	}
	return Refuted
}

// step applies an operation to a state. It returns the next state and whether the operation is possible in the given
// state.
type step[S comparable, Op any] func(state S, op *Op) (S, bool)

// model makes a porcupine model from a step function. States are compared with ==. A nil budget is unlimited.
func model[S comparable, Op any](initial S, next step[S, Op], b *budget) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, _ any) (bool, any) {
			if b != nil && !b.spend() {
				return false, state
			}
			after, ok := next(state.(S), input.(*Op))
			if ok && b != nil && !b.keep() {
				return false, state
			}
			return ok, after
		},
		Equal: func(x, y any) bool { return x.(S) == y.(S) },
	}
}
