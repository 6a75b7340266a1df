package sim

import "github.com/fencepost-sim/fencepost/checker/history"

// Time is true time; only the kernel knows it.
type Time = history.Time

// An actor is whoever an event happens to. arg tells it which of its events this is.
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

func (q *queue) push(e event) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
	*q = h
}

func (q *queue) pop() event {
	h := *q
	top := h[0]
	last := h[len(h)-1]
	h[len(h)-1] = event{}
	h = h[:len(h)-1]
	if len(h) > 0 {
		h.sink(last)
	}
	*q = h
	return top
}

// sink puts e at the root and lets it down to its place.
func (q queue) sink(e event) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(q) {
			break
		}
		if child+1 < len(q) && q[child+1].before(&q[child]) {
			child++
		}
		if !q[child].before(&e) {
			break
		}
		q[i] = q[child]
		i = child
	}
	q[i] = e
}
