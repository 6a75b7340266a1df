package linear

import (
	"github.com/anishathalye/porcupine"
)

// Anything is the content of a register with an unknown initial value. Its first read may return any value.
const Anything = -1

// Step is a part of a transaction that reads a value from a register or writes one to it.
type Step struct {
	Register int // number of the register, from 0
	Write    bool
	Value    int // from 0; the caller decides what it means
}

// Transaction is a list of steps on registers that take effect together. A compare-and-set is a read of the old value
// followed by a write of the new value. A read with an unknown result is left out.
type Transaction struct {
	Steps    []Step
	Optional bool // the outcome is unknown: the transaction took effect once or never; Return must be Forever
	Client   int  // number of the client in whose row the transaction is drawn, from 0
	Name     string
	// Call and Return are positions or times. The transaction takes effect between them.
	Call, Return int64
}

// registers numbers the registers' states, so that they can be compared as numbers.
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

// enter returns the number of the state held in r.next. If the state does not have a number yet, enter assigns one.
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

// step applies a transaction to a state. Like updateStep, it needs no special case for optional transactions that did
// not take effect.
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

// Transactions checks whether the transactions can be ordered so that each finds the values that it read. initial
// contains the registers' initial values.
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
