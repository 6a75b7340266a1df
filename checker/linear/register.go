package linear

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

// Update is a client's read-modify-write of the data behind a lock, as one atomic operation: it read Read and wrote
// Written.
type Update struct {
	Blind    bool   // nothing was read: it overwrites any value
	Optional bool   // its outcome is unknown: it took effect once or never. Its Return must be Forever
	Read     string // the value it read
	Written  string
	Client   int // the client on whose line it is drawn, from 0
	Name     string
	// Call and Return are event positions: the read's call and the write's return.
	Call, Return int64
}

// updateStep needs no second branch for an optional update that never happened: since it returns Forever, an order that
// skips it may put it last, where nobody sees its effect, or the value that it did not read refuses it.
func updateStep(value string, u *Update) (string, bool) {
	switch {
	case u.Blind || value == u.Read:
		return u.Written, true
	case u.Optional:
		return value, true
	}
	return value, false
}

// Register reports whether the updates of one datum are atomic: whether an order exists in which each finds the value
// that it read, starting from initial.
func Register(initial string, updates []Update) Answer {
	if explained(initial, updates) {
		return Linearizable
	}
	b := budgetFor(len(updates), maxSteps)
	return b.answer(porcupine.CheckOperations(model(initial, updateStep, &b), updateOperations(updates)))
}

// explained reports whether the updates in the given order are such an order, so that porcupine need not search for
// one.
func explained(initial string, updates []Update) bool {
	value, called, ok := initial, int64(math.MinInt64), true
	for i := range updates {
		u := &updates[i]
		if called = max(called, u.Call); u.Return < called { // it ended before an earlier one began
			return false
		}
		if value, ok = updateStep(value, u); !ok {
			return false
		}
	}
	return true
}

// RegisterEvidence is Register, with what is needed to draw it.
func RegisterEvidence(initial string, updates []Update) *Evidence {
	m := model(initial, updateStep, nil)
	m.DescribeOperation = func(input, _ any) string { return input.(*Update).describe() }
	m.DescribeState = func(state any) string { return fmt.Sprintf("%q", state.(string)) }
	return evidence(m, func(b *budget) porcupine.Model { return model(initial, updateStep, b) },
		updateOperations(updates))
}

func updateOperations(updates []Update) []porcupine.Operation {
	out := make([]porcupine.Operation, len(updates))
	for i := range updates {
		u := &updates[i]
		out[i] = porcupine.Operation{ClientId: u.Client, Input: u, Call: u.Call, Return: u.Return}
	}
	return out
}

func (u *Update) describe() string {
	text := fmt.Sprintf("read %q, write %q", u.Read, u.Written)
	if u.Blind {
		text = fmt.Sprintf("write %q", u.Written)
	}
	if u.Optional {
		text += " (outcome unknown)"
	}
	if u.Name != "" {
		text = u.Name + ": " + text
	}
	return text
}
