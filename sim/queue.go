package sim

import "github.com/fencepost-sim/fencepost/checker/history"

// Time is true time. Only the simulation kernel knows it.
type Time = history.Time

// An actor handles events. arg tells it which of its events has occurred.
type actor interface{ act(arg uint64) }

// An event is an action that is due at a true time. Events at the same instant happen in the order in which they were
// scheduled.
type event struct {
	at  Time
	seq uint64
	who actor
	arg uint64
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.seq < f.seq
}

// queue is a binary heap ordered by (at, seq). It does not use container/heap, which would allocate memory for every
// event.
type queue []event

func (q *queue) push(e *event) {
	h := append(*q, event{})
	*q = h
	h.rise(len(h)-1, e)
}

// pop removes the first event from the queue and stores it in e.
func (q *queue) pop(e *event) {
	h := *q
	last := len(h) - 1
	*e = h[0]
	if i := h[:last].sink(); i < last {
		h.rise(i, &h[last])
	}
	h[last] = event{}
	*q = h[:last]
}

// sink moves the empty slot at the root down to a leaf and returns the leaf's index. pop then puts the heap's last
// event there and moves it up. That event usually belongs near a leaf, so this is faster than searching for its place
// from the root.
func (q queue) sink() int {
	i := 0
	for child := 1; child < len(q); child = 2*i + 1 {
		if child+1 < len(q) && q[child+1].before(&q[child]) {
			child++
		}
		q[i] = q[child]
		i = child
	}
	return i
}

// rise inserts e at the empty slot i, or above it where it belongs in the heap.
func (q queue) rise(i int, e *event) {
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&q[parent]) {
			break
		}
		q[i] = q[parent]
		i = parent
	}
	p := &q[i]
	p.at, p.seq, p.who, p.arg = e.at, e.seq, e.who, e.arg
}
