package sim

import "github.com/fencepost-sim/fencepost/checker/history"

// Time is true time; only the kernel knows it.
type Time = history.Time

// An actor is whatever an event happens to. arg identifies which of its events this is.
type actor interface{ act(arg uint64) }

// An event is due at a true time; events of one instant happen in the order in which they were scheduled.
type event struct {
	at  Time
	seq uint64
	who actor
	arg uint64
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.seq < f.seq
}

// queue is a binary heap ordered by (at, seq). It is written out since container/heap boxes every event.
type queue []event

func (q *queue) push(e *event) {
	h := append(*q, event{})
	*q = h
	h.rise(len(h)-1, e)
}

// pop takes the first event out.
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

// sink lets the free place at the root sink to a leaf, and returns where that is. An event from the end of the heap is
// usually late, and belongs there or nearby, which is cheaper to find from below.
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

// rise puts e at the free place i, or above.
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
