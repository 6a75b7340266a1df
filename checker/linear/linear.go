// Package linear asks porcupine whether operations on a lock, or on the data behind it, are linearizable.
//
// Goals: typed operations in, a plain answer or a drawing out; none of porcupine's untyped values leaves the package.
// Non-goals: knowing events or laws. What counts as an operation is decided by package checker.
package linear

import (
	"math"

	"github.com/anishathalye/porcupine"
)

// Forever is the Return of an operation that has not returned: it may take effect at any time after its Call.
const Forever int64 = math.MaxInt64

// Answer is the result of a check.
type Answer uint8

// The zero Answer is never a pass.
const (
	Unknown      Answer = iota // the budget of steps ran out first
	TooMany                    // there are more operations than porcupine is asked about at once
	Linearizable               // some order of the operations explains what was observed
	Refuted                    // no order does
)

// maxSteps is the most steps of the model that one check may take. Linearizability is NP-hard; counting steps, not
// time, makes the same history give the same answer on every machine.
const maxSteps = 1 << 20

// The memory that the steps of one check may take, and that one step takes in addition to a bit for each operation, in
// bytes: porcupine remembers every step that was possible.
const (
	maxMemory  = 256 << 20
	stepMemory = 200
)

// budget counts the steps of one check. Once it is used up every step is refused, which makes porcupine give up soon.
type budget struct {
	left int // steps that may be tried
	room int // steps that may be remembered
}

// budgetFor returns the budget of a check of that many operations and at most that many steps.
func budgetFor(operations, steps int) budget {
	return budget{left: steps, room: maxMemory / (operations/8 + stepMemory)}
}

// spend reports whether another step may be tried.
func (b *budget) spend() bool {
	b.left--
	return b.left >= 0
}

// keep reports whether another step may be remembered. If not, no more are tried.
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

// step is a model's step on typed values.
type step[S comparable, Op any] func(state S, op *Op) (S, bool)

// model makes a porcupine model of a step. States are compared with ==.
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
