package linear

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

// Update is a client's read-modify-write of the data behind a lock, as one atomic operation: the data was Read, and
// from then on it was Written.
type Update struct {
	Blind    bool   // nothing was read: it writes whatever the data was
	Optional bool   // its outcome is unknown: it took effect once or never. Its Return must be Forever
	Read     string // what it saw
	Written  string
	Client   int // whose line it is drawn on, from 0
	Name     string
	// Call and Return are event positions: the read's call and the write's return.
	Call, Return int64
}

// updateStep needs no second branch for an optional update that never happened: since it returns Forever, an order
// that skips it may put it last, where its effect is seen by nobody or refused by a value that it did not read.
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

// explained reports whether the updates as they stand are such an order, so that porcupine need not look for one.
func explained(initial string, updates []Update) bool {
	value, called, ok := initial, int64(math.MinInt64), true
	for i := range updates {
		u := &updates[i]
		if called = max(called, u.Call); u.Return < called { // it was over when one before it began
			return false
		}
		if value, ok = updateStep(value, u); !ok {
			return false
		}
	}
	return true
}

// RegisterEvidence is Register with what is needed to draw it.
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
