package timeline

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// made returns the attempt that made an event.
func made(e *history.Event) trace.Title { return trace.Title{Lock: e.Lock, Attempt: e.Attempt} }

// behalf returns the attempt that set the event's key, or on whose behalf the resource was called.
func behalf(e *history.Event) trace.Title { return trace.Title{Lock: e.Lock, Attempt: e.Of} }

// byTitle holds a value for each attempt. Attempts of different locks may have the same name.
type byTitle[V comparable] struct {
	locks  map[history.Lock]bool // the history's locks
	values map[trace.Title]V
	byName map[history.Attempt]V
	shared map[history.Attempt]bool // names of several attempts with different values
}

func newByTitle[V comparable](locks map[history.Lock]bool) byTitle[V] {
	return byTitle[V]{locks, map[trace.Title]V{}, map[history.Attempt]V{}, map[history.Attempt]bool{}}
}

func (b *byTitle[V]) set(of trace.Title, v V) {
	if old, known := b.byName[of.Attempt]; known && old != v {
		b.shared[of.Attempt] = true
	}
	b.values[of], b.byName[of.Attempt] = v, v
}

// get returns an attempt's value. The lock in a title may be a key that is not a lock. If there is no value for such a
// title, get goes by the attempt's name alone, unless attempts with different values share the name.
func (b *byTitle[V]) get(of trace.Title) (v V, ok bool) {
	if v, ok = b.values[of]; ok || b.locks[of.Lock] || b.shared[of.Attempt] {
		return v, ok
	}
	v, ok = b.byName[of.Attempt]
	return v, ok
}
