package linear

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

// Update is a client's read-modify-write of the data that a lock guards. It is one atomic operation that read the value
// Read and wrote the value Written.
type Update struct {
	Blind    bool   // the update read nothing, so it may overwrite any value
	Optional bool   // the outcome is unknown: the update took effect once or never; Return must be Forever
	Read     string // the value it read
	Written  string
	Client   int // number of the client in whose row the update is drawn, from 0
	Name     string
	// Call and Return are event positions: the call of the read and the return of the write.
	Call, Return int64
}

// updateStep is the step function of a register: it returns the value after update u, and whether u is possible. If the
// current value is not the one that u read, u is not possible, unless it is blind or optional. An optional update then
// leaves the value unchanged. If an optional update never took effect, its Return is Forever, so it can also come last
// in an order, where nothing reads its effect.
func updateStep(value string, u *Update) (string, bool) {
	switch {
	case u.Blind || value == u.Read:
		return u.Written, true
	case u.Optional:
		return value, true
	}
	return value, false
}

// Register checks whether the updates to one datum are atomic. There must be an order in which each update finds the
// value that it read, starting from initial.
func Register(initial string, updates []Update) Answer {
	if explained(initial, updates) {
		return Linearizable
	}
	b := budgetFor(len(updates), maxSteps)
	return b.answer(porcupine.CheckOperations(model(initial, updateStep, &b), updateOperations(updates)))
}

// explained reports whether the updates are already in a possible order, in which each update finds the value that it
// read. If so, porcupine need not search for an order.
func explained(initial string, updates []Update) bool {
	value, called, ok := initial, int64(math.MinInt64), true
	for i := range updates {
		u := &updates[i]
		if called = max(called, u.Call); u.Return < called { // u returned before an earlier update was called
			return false
		}
		if value, ok = updateStep(value, u); !ok {
			return false
		}
	}
	return true
}

// RegisterEvidence performs the same check as Register. In addition to the answer, it returns the orders that porcupine
// tried, so that a report can draw them.
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
