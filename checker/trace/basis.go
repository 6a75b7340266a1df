package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// worker is an attempt at work on the data of one lock.
type worker struct {
	lock int32
	of   history.Attempt
}

// Basis is a value that a write builds on.
type Basis struct {
	known bool
	Value string
	At    int // the event that made it known to the worker
	asked int // it was read after this position; -1 if it may have been read at any time before at
}

// knowledge is what one worker has learned of the data. What the resource accepted and what the client received are
// kept apart: a read whose answer the client stopped waiting for may be accepted later than the one that it works with,
// and so may a write.
type knowledge struct {
	worker
	accepted Basis // its last accepted read, or the write after it
	received Basis // its last read that returned, or the write after it that was confirmed
	reading  int   // the call of its read under way, -1 if none is known
	calls    []call
	latest   map[string]int // by value, its last call among the first entered ones; made when it is needed
	entered  int
}

// call is a write as its client called it.
type call struct {
	value string
	on    Basis
}

// bases keeps the knowledge of all workers.
type bases struct {
	number map[worker]int32
	known  []knowledge
	latest int32 // the last one requested: usually the next too
}

func (b *bases) reset() {
	if b.number == nil {
		b.number = make(map[worker]int32)
	}
	clear(b.number)
	b.known, b.latest = b.known[:0], 0
}

func (b *bases) worker(lock int32, of history.Attempt) *knowledge {
	w := worker{lock, of}
	if int(b.latest) < len(b.known) && b.known[b.latest].worker == w {
		return &b.known[b.latest]
	}
	n, ok := b.number[w]
	if !ok {
		n = int32(len(b.known))
		b.number[w] = n
		b.known = slices.Grow(b.known, 1)[:n+1]
		b.known[n] = knowledge{worker: w, reading: -1, calls: b.known[n].calls[:0]}
	}
	b.latest = n
	return &b.known[n]
}

// accept records a read or write that the resource accepted. A write without any read makes nothing known: others may
// have written between it and the next.
func (b *bases) accept(at int, lock int32, e *history.Event) {
	if e.Of == "" { // it is not known whose it was
		return
	}
	k := b.worker(lock, e.Of)
	if k.accepted.known || e.Op == history.Read {
		k.accepted = Basis{true, e.Value, at, at}
	}
}

// Client records a read or write as its client saw it.
func (b *bases) Client(at int, lock int32, e *history.Event) {
	k := b.worker(lock, e.Attempt)
	switch {
	case e.F == history.Read && e.Type == history.Invoke:
		k.reading = at
	case e.F == history.Read && e.Type == history.OK:
		k.received, k.reading = Basis{true, e.Value, at, k.reading}, -1
	case e.F == history.Write && e.Type == history.Invoke:
		k.calls = append(k.calls, call{e.Value, k.received})
	case e.F == history.Write && e.Type == history.OK && k.received.known && len(k.calls) > 0:
		k.received = Basis{true, k.calls[len(k.calls)-1].value, at, at}
	case e.F == history.Write && e.Type == history.Info:
		k.received.known = false // it may or may not build on its own write
	}
}

// Under is what an accepted write builds on: what its client knew when it called it, as far as the history records
// that.
func (b *bases) Under(lock int32, e *history.Event) Basis {
	if e.Of == "" {
		return Basis{}
	}
	k := b.worker(lock, e.Of)
	if c := k.call(e.Value); c != nil {
		return c.on
	}
	return k.accepted
}

// call is the latest call of a write of that value, nil if there is none.
func (k *knowledge) call(value string) *call {
	n := len(k.calls)
	switch {
	case n == 0:
		return nil
	case k.calls[n-1].value == value: // the usual case
		return &k.calls[n-1]
	}
	if k.latest == nil {
		k.latest = make(map[string]int)
	}
	for ; k.entered < len(k.calls); k.entered++ {
		k.latest[k.calls[k.entered].value] = k.entered
	}
	if i, ok := k.latest[value]; ok {
		return &k.calls[i]
	}
	return nil
}
