package trace

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// wait is a period in which a process is waiting for a lock. If an acquire is not granted and the process asks again
// within a TTL, the wait continues.
type wait struct {
	ask      int32 // index of its first acquire
	by       task
	lock     int32
	from, to int // positions; to is Open if the wait lasts to the end of the history
}

// waits lists the waits in the order in which they began.
func (t *Trace) waits() []wait {
	type waiter struct {
		task
		lock int32
	}
	all := make([]wait, 0, len(t.Asks))
	// for each waiter, the waits that its next acquire may continue; there are several if several of its tasks asked at
	// once
	gaveUp := make(map[waiter][]int)
	for n := range t.Asks {
		a := &t.Asks[n]
		w, this := waiter{a.by(), a.Lock}, -1
		gaveUp[w] = slices.DeleteFunc(gaveUp[w], func(i int) bool {
			before := all[i].to < a.Call
			if before && this < 0 && t.Time(a.Call)-t.Time(all[i].to) <= t.History.Header.TTL {
				this = i
				all[i].to = t.Waited(a)
			}
			return before
		})
		if this < 0 {
			this = len(all)
			all = append(all, wait{int32(n), a.by(), a.Lock, a.Call, t.Waited(a)})
		}
		if a.Outcome == history.Fail || a.Outcome == history.Info {
			gaveUp[w] = append(gaveUp[w], this)
		}
	}
	return all
}

// SingleWaits returns a separate wait for each acquire. Unlike waits, it does not combine acquires that follow one
// another closely.
func (t *Trace) SingleWaits() []wait {
	all := make([]wait, len(t.Asks))
	for n := range t.Asks {
		a := &t.Asks[n]
		all[n] = wait{int32(n), a.by(), a.Lock, a.Call, a.Ret}
	}
	return all
}

// turn is a moment at which a wait, a hold or a fault begins or ends.
type turn struct {
	At   int
	Kind turnKind
	N    int32 // index of the wait, the grant or the fault, depending on the kind
}

type turnKind uint8

const (
	WaitBegins   turnKind = iota // a wait begins
	WaitEnds                     // a wait ends; if only the outcome is recorded, the wait ends at once
	HoldBegins                   // a section begins
	HoldEnds                     // a section ends
	FaultStrikes                 // a fault strikes
	FaultIsOver                  // a fault is over
)

// Turns lists the moments at which waits, holds and faults begin and end, in order.
func (t *Trace) Turns(waits []wait) []turn {
	turns := make([]turn, 0, 2*(len(waits)+len(t.Grants)+len(t.Faults)))
	add := func(at int, kind turnKind, n int) {
		if at != Open {
			turns = append(turns, turn{at, kind, int32(n)})
		}
	}
	for n := range waits {
		add(waits[n].from, WaitBegins, n)
		add(waits[n].to, WaitEnds, n)
	}
	for n := range t.Grants {
		add(t.Grants[n].OK, HoldBegins, n)
		add(t.Grants[n].End, HoldEnds, n)
	}
	for n := range t.Faults {
		add(t.Faults[n].Start, FaultStrikes, n)
		add(t.Counted(&t.Faults[n]), FaultIsOver, n)
	}
	slices.SortFunc(turns, func(a, b turn) int {
		return cmp.Or(a.At-b.At, int(a.Kind)-int(b.Kind), int(a.N-b.N))
	})
	return turns
}
