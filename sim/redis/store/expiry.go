package store

import (
	"cmp"
	"math"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Never is the deadline of a key that does not expire.
const Never int64 = math.MaxInt64

// LastTimed is the last deadline, in ms, that can be expressed in nanoseconds (in the year 2262). Later deadlines are
// stored and returned as given, but no timer is set for them.
const LastTimed = math.MaxInt64/1_000_000 - 1

// EndOf returns the first wall-clock time, in ns, at which a key with the given deadline (in ms) has expired. The key
// still exists during the whole millisecond of its deadline.
func EndOf(when int64) int64 { return (when + 1) * 1_000_000 }

// millis converts a wall-clock time from ns to ms, rounded down.
func millis(wall int64) int64 {
	ms := wall / 1_000_000
	if wall%1_000_000 < 0 {
		ms--
	}
	return ms
}

// deadline is an entry in the deadline heap. It is valid as long as its key or field has the same seq as the entry.
type deadline struct {
	when  int64
	seq   uint64 // orders equal deadlines: the one set first expires first
	name  string
	field string // empty if it is a key's deadline
	key   *Entry
}

// ofKey reports whether a valid entry is a key's deadline, rather than a field's.
func (d deadline) ofKey() bool { return d.key.seq == d.seq }

func (d deadline) before(e deadline) bool {
	return d.when < e.when || d.when == e.when && d.seq < e.seq
}

// deadlines is a min-heap with lazy deletion: obsolete entries may stay in it for a while.
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

// keep removes the entries for which valid returns false.
func (h *deadlines) keep(valid func(deadline) bool) {
	*h = slices.DeleteFunc(*h, func(d deadline) bool { return !valid(d) })
	for i := len(*h)/2 - 1; i >= 0; i-- {
		h.sift(i)
	}
}

// NextDeadline returns the earliest deadline, in ms, of any key or field that is not hidden. It returns Never if there
// is none.
func (d *Data) NextDeadline() int64 {
	for len(d.deadlines) > 0 && !stands(d.deadlines[0]) {
		d.deadlines.pop()
	}
	if len(d.deadlines) == 0 {
		return Never
	}
	return d.deadlines[0].when
}

// Until returns the true time at which a key with this deadline will expire if the clock is accurate.
func (d *Data) Until(when int64) history.Time {
	if when > LastTimed {
		return history.Never
	}
	return d.Onlooker.Due(timeUntil(EndOf(when), d.Wall))
}

// DueAt returns the keys whose deadlines have passed at the given wall-clock time (in ns), in deadline order. It does
// not change anything.
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
