package linear

import (
	"github.com/anishathalye/porcupine"
)

// Anything is the value of a register whose content is not known: whatever is read first was there.
const Anything = -1

// Step is a part of a transaction: it finds a value in a register, or puts one there.
type Step struct {
	Register int // from 0
	Write    bool
	Value    int // from 0; its meaning is the caller's
}

// Transaction is a set of steps on registers that took effect together. A compare-and-set is a read of the old value
// and a write of the new one; a read whose result is unknown is no step.
type Transaction struct {
	Steps    []Step
	Optional bool // its outcome is unknown: it took effect once or never. Its Return must be Forever
	Client   int  // the client on whose line it is drawn, from 0
	Name     string
	// Call and Return are positions or times: it took effect between them.
	Call, Return int64
}

// registers numbers the states that registers have been in, so that states are compared as numbers.
type registers struct {
	known  [][]int
	number map[string]int
	next   []int
	key    []byte
}

func newRegisters(initial []int) *registers {
	r := &registers{number: map[string]int{}}
	r.next = append(r.next, initial...)
	r.enter()
	return r
}

// enter returns the number of the state in next.
func (r *registers) enter() int {
	r.key = r.key[:0]
	for _, v := range r.next {
		r.key = append(r.key, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	if n, ok := r.number[string(r.key)]; ok {
		return n
	}
	n := len(r.known)
	r.number[string(r.key)] = n
	r.known = append(r.known, append([]int(nil), r.next...))
	return n
}

// step needs no second branch for an optional transaction that never happened, as updateStep needs none.
func (r *registers) step(state int, t *Transaction) (int, bool) {
	r.next = append(r.next[:0], r.known[state]...)
	for i := range t.Steps {
		s := &t.Steps[i]
		if now := r.next[s.Register]; !s.Write && now != s.Value && now != Anything {
			return state, t.Optional
		}
		r.next[s.Register] = s.Value
	}
	return r.enter(), true
}

// Transactions reports whether an order of the transactions exists in which each finds what it read. Initial is what
// the registers hold initially.
func Transactions(initial []int, list []Transaction) Answer {
	b, r := budgetFor(len(list), maxSteps), newRegisters(initial)
	m := model(0, r.step, &b)
	m.Hash = func(state any) uint64 { return uint64(state.(int)) * 0x9e3779b97f4a7c15 }
	return b.answer(porcupine.CheckOperations(m, transactions(list)))
}

func transactions(list []Transaction) []porcupine.Operation {
	out := make([]porcupine.Operation, len(list))
	for i := range list {
		t := &list[i]
		out[i] = porcupine.Operation{ClientId: t.Client, Input: t, Call: t.Call, Return: t.Return}
	}
	return out
}
