package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// worker identifies one attempt and the lock that guards the data that the attempt reads and writes.
type worker struct {
	lock int32
	of   history.Attempt
}

// Basis is the value from which a write was computed.
type Basis struct {
	known bool
	Value string
	At    int // position of the event that told the worker this value
	asked int // the value was read or written no earlier than this; -1 if that may have been at any time before At
}

// knowledge is what one worker knows about the data. It keeps what the resource accepted separate from what the client
// received, because the two can differ. Suppose that a client stops waiting for the reply to a read and reads again.
// The client then uses the value from the second read, but the resource may accept the first read after the second one.
// The same can happen with writes.
type knowledge struct {
	worker
	accepted Basis // the last read that was accepted, or a write that was accepted after it
	received Basis // the last read that returned, or a write that was confirmed after it
	reading  int   // position of the call of the unfinished read; -1 if there is none
	calls    []call
	// maps each value to the index of the last call that wrote it; calls from index entered on are not included yet
	latest  map[string]int
	entered int
}

// call is a client's write call, with the value from which the written value was computed.
type call struct {
	value string
	on    Basis
}

// bases holds, for each worker, the value of the data that it knows and from which it will compute its next write.
type bases struct {
	number map[worker]int32
	known  []knowledge
	latest int32 // index of the worker that was last looked up; it is usually looked up again
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

// accept records a read or write that the resource accepted. It ignores a write by a worker that hasn't read anything,
// because others may write between this write and the worker's next one.
func (b *bases) accept(at int, lock int32, e *history.Event) {
	if e.Of == "" { // the history does not say which attempt made the request
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
		k.received.known = false // it is unknown whether that write took effect
	}
}

// Under returns the value from which an accepted write was computed: the value that its worker (see worker) knew when
// it made the write call. If the history does not record that call, Under returns the value of the last read or write
// by the same worker that the resource accepted before this one.
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

// call returns the worker's latest write call with the given value, or nil if there is none.
func (k *knowledge) call(value string) *call {
	n := len(k.calls)
	switch {
	case n == 0:
		return nil
	case k.calls[n-1].value == value: // this is the usual case
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
