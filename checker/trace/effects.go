package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// datum is the state of one lock's data.
type datum struct {
	Value   string
	Initial string
	At      int // position of the write that set Value; -1 if no write did
	started bool
	Effects []effect // the first accepted effect of each grant
	kinds   [kinds]int
	ranks   [2]ranks // of all grants that took effect, and of only the exclusive ones
}

type effect struct {
	Grant int32
	At    int
}

// scan is the state of the resource after the records read so far.
type scan struct {
	Data    []datum // by lock
	Ranked  []bool  // by grant: whether Rank has already added it
	written map[datumValue]bool
	Bases   bases
}

// datumValue is a value of the data guarded by a lock.
type datumValue struct {
	lock  history.Lock
	value string
}

// Reset prepares the scan for another history.
func (s *scan) Reset(locks, grants int) {
	s.Bases.reset()
	s.written = nil
	s.Ranked = slices.Grow(s.Ranked[:0], grants)[:grants]
	clear(s.Ranked)
	for len(s.Data) < locks {
		s.Data = append(s.Data, datum{})
	}
	for i := range s.Data {
		d := &s.Data[i]
		*d = datum{At: -1, Effects: d.Effects[:0], ranks: d.ranks}
		for j := range d.ranks {
			d.ranks[j].reset()
		}
	}
}

// Effect records a read or write that the resource accepted.
func (s *scan) Effect(at int, lock int32, e *history.Event) {
	d := &s.Data[lock]
	if e.Op == history.Write {
		d.Value, d.At = e.Value, at
	} else if !d.started {
		d.Value, d.Initial = e.Value, e.Value
	}
	d.started = true
	s.Bases.accept(at, lock, e)
}

// Loses reports whether a write overwrites another write that its client did not know of (a lost update). own is the
// value from which the client computed its write. Usually, an update is lost if the current value differs from own.
// There are two exceptions. If nobody in the history wrote the current value, Loses returns false. It also returns
// false if the client asked for own after the current value was written, and nobody in the history wrote own: an
// unrecorded write must then have overwritten the current value.
func (t *Trace) Loses(lock int32, own Basis) bool {
	d := &t.Scan.Data[lock]
	if !own.known || own.Value == d.Value || d.At < 0 {
		return false
	}
	return own.asked <= d.At || !t.fromNowhere(lock, own.Value)
}

// fromNowhere reports whether a value came from nowhere: it is not the initial value, and nobody in the history wrote
// it.
func (t *Trace) fromNowhere(lock int32, value string) bool {
	s := &t.Scan
	if value == s.Data[lock].Initial {
		return false
	}
	if s.written == nil {
		s.written = make(map[datumValue]bool)
		for _, at := range t.Data {
			if e := &t.History.Events[at]; e.F == history.Write || e.F == history.Apply && e.Op == history.Write {
				s.written[datumValue{e.Lock, e.Value}] = true
			}
		}
	}
	return !s.written[datumValue{t.Locks[lock].Name, value}]
}

// GrantAt returns an attempt's grant of a lock, if there is one.
func (t *Trace) GrantAt(of history.Attempt, lock int32) (int32, bool) {
	n, ok := t.Owner[Title{t.Locks[lock].Name, of}]
	return n, ok && of != ""
}
