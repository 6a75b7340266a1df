package checker

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// wait is the time in which a process waits for a lock: of one ask, or of several if it asked again within a TTL of each
// that was not granted.
type wait struct {
	ask      int32 // the first
	process  history.Process
	lock     int32
	from, to int // to is open if it goes on to the end
}

// waits lists the waits in the order of their beginnings.
func (t *trace) waits() []wait {
	type waiter struct {
		process history.Process
		lock    int32
	}
	all := make([]wait, 0, len(t.asks))
	gaveUp := make(map[waiter][]int) // what the next ask may go on with; more than one only where tasks asked at once
	for n := range t.asks {
		a := &t.asks[n]
		w, this := waiter{a.process, a.lock}, -1
		gaveUp[w] = slices.DeleteFunc(gaveUp[w], func(i int) bool {
			before := all[i].to < a.call
			if before && this < 0 && t.time(a.call)-t.time(all[i].to) <= t.h.Header.TTL {
				this = i
				all[i].to = a.ret
			}
			return before
		})
		if this < 0 {
			this = len(all)
			all = append(all, wait{int32(n), a.process, a.lock, a.call, a.ret})
		}
		if a.outcome == history.Fail || a.outcome == history.Info {
			gaveUp[w] = append(gaveUp[w], this)
		}
	}
	return all
}

// singleWaits lists one wait for each ask, however soon it is called again.
func (t *trace) singleWaits() []wait {
	all := make([]wait, len(t.asks))
	for n := range t.asks {
		a := &t.asks[n]
		all[n] = wait{int32(n), a.process, a.lock, a.call, a.ret}
	}
	return all
}

// turn is one change of who waits or holds, or of whether a fault is under way.
type turn struct {
	at   int
	kind turnKind
	n    int32 // of the wait, the grant or the fault
}

type turnKind uint8

const (
	makeWait turnKind = iota // a wait begins
	endWait                  // a wait ends; one of which only the outcome is known ends as it begins
	getHold                  // a section begins
	endHold                  // a section ends
	strikes                  // a fault strikes
	isOver                   // a fault is over
)

// turns lists who begins and ends to wait and to hold, in order.
func (t *trace) turns(waits []wait) []turn {
	turns := make([]turn, 0, 2*(len(waits)+len(t.grants)+len(t.faults)))
	add := func(at int, kind turnKind, n int) {
		if at != open {
			turns = append(turns, turn{at, kind, int32(n)})
		}
	}
	for n := range waits {
		add(waits[n].from, makeWait, n)
		add(waits[n].to, endWait, n)
	}
	for n := range t.grants {
		add(t.grants[n].ok, getHold, n)
		add(t.grants[n].end, endHold, n)
	}
	for n := range t.faults {
		add(t.faults[n].from, strikes, n)
		add(t.counted(&t.faults[n]), isOver, n)
	}
	slices.SortFunc(turns, func(a, b turn) int {
		return cmp.Or(a.at-b.at, int(a.kind)-int(b.kind), int(a.n-b.n))
	})
	return turns
}
