package store

import (
	"cmp"
	"math"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Never is the deadline of a key without expiry.
const Never int64 = math.MaxInt64

// LastTimed is the last deadline (ms) that can be expressed in nanoseconds, in the year 2262. Later deadlines are
// stored and reported as given, but no timer is set for them.
const LastTimed = math.MaxInt64/1_000_000 - 1

// EndOf returns the wall-clock time (ns) at which a key with deadline when (ms) has expired: the key lives throughout
// the millisecond of its deadline.
func EndOf(when int64) int64 { return (when + 1) * 1_000_000 }

// millis returns a wall-clock time of ns in whole milliseconds, rounded down.
func millis(wall int64) int64 {
	ms := wall / 1_000_000
	if wall%1_000_000 < 0 {
		ms--
	}
	return ms
}

// deadline is an entry of the heap of deadlines. It is valid only while its key has the same seq.
type deadline struct {
	when int64
	seq  uint64 // order among equal deadlines: first set, first expired
	name string
	key  *Entry
}

func (d deadline) before(e deadline) bool {
	return d.when < e.when || d.when == e.when && d.seq < e.seq
}

// deadlines is a min-heap with lazy deletion.
type deadlines []deadline

func (h *deadlines) push(d deadline) {
	*h = append(*h, d)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s[i].before(s[parent]) {
			break
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (h *deadlines) pop() {
	s := *h
	last := len(s) - 1
	s[0] = s[last]
	s[last] = deadline{}
	*h = s[:last]
	h.sift(0)
}

func (h *deadlines) sift(i int) {
	s := *h
	for {
		least := 2*i + 1
		if least >= len(s) {
			return
		}
		if right := least + 1; right < len(s) && s[right].before(s[least]) {
			least = right
		}
		if !s[least].before(s[i]) {
			return
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
}

// keep drops the entries for which valid is false.
func (h *deadlines) keep(valid func(deadline) bool) {
	*h = slices.DeleteFunc(*h, func(d deadline) bool { return !valid(d) })
	for i := len(*h)/2 - 1; i >= 0; i-- {
		h.sift(i)
	}
}

// NextDeadline returns the earliest deadline, in ms, of a key that is not hidden, or Never.
func (d *Data) NextDeadline() int64 {
	for len(d.deadlines) > 0 && !stands(d.deadlines[0]) {
		d.deadlines.pop()
	}
	if len(d.deadlines) == 0 {
		return Never
	}
	return d.deadlines[0].when
}

// Until returns the true time at which a key with this deadline will end if the clock runs true.
func (d *Data) Until(when int64) history.Time {
	if when > LastTimed {
		return history.Never
	}
	return d.Onlooker.Due(timeUntil(EndOf(when), d.Wall))
}

// DueAt lists the keys whose deadline has passed when the wall clock shows wall (ns), the earliest first. It changes
// nothing.
func (d *Data) DueAt(wall int64) (names []string) {
	var due deadlines
	for _, e := range d.deadlines {
		if stands(e) && millis(wall) > e.when {
			due = append(due, e)
		}
	}
	slices.SortFunc(due, func(a, b deadline) int {
		return cmp.Or(cmp.Compare(a.when, b.when), cmp.Compare(a.seq, b.seq))
	})
	for _, e := range due {
		names = append(names, e.name)
	}
	return names
}
