// Package linear asks the porcupine checker whether operations on a lock, or on the data that it guards, are
// linearizable.
//
// Goals: the input is typed operations, and the output is a plain answer or a drawing. Porcupine's untyped values do
// not leave the package.
//
// Non-goals: knowledge of events or laws. Package checker decides what counts as an operation.
package linear

import (
	"math"

	"github.com/anishathalye/porcupine"
)

// Forever is the Return of an operation that has not returned. Such an operation may take effect at any time after its
// Call.
const Forever int64 = math.MaxInt64

// Answer is the result of a check.
type Answer uint8

// The results of a check. The zero Answer is never a pass.
const (
	Unknown      Answer = iota // the budget of steps or memory ran out
	TooMany                    // there are more operations than a single call of porcupine may have
	Linearizable               // some order of the operations explains what was observed
	Refuted                    // no order of the operations explains what was observed
)

// maxSteps is the maximum number of model steps in one check. Linearizability is NP-hard. The budget limits steps
// rather than time, so that a history gets the same answer on every machine.
const maxSteps = 1 << 20

// Memory limits, in bytes. Porcupine remembers every step that was possible in a check. maxMemory limits the memory for
// all of them. Each step takes stepMemory, plus one bit for each operation.
const (
	maxMemory  = 256 << 20
	stepMemory = 200
)

// budget counts the steps in one check. Once it is used up, every further step is refused, so porcupine soon gives up.
type budget struct {
	left int // number of steps that may still be tried
	room int // number of steps that may still be remembered
}

// budgetFor returns a budget of at most the given number of steps, for a check of the given number of operations.
func budgetFor(operations, steps int) budget {
	return budget{left: steps, room: maxMemory / (operations/8 + stepMemory)}
}

// spend uses up one step. It returns false if no steps are left.
func (b *budget) spend() bool {
	b.left--
	return b.left >= 0
}

// keep reserves the memory that porcupine needs to remember one step. If no memory is left, it returns false, and spend
// permits no more steps.
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
