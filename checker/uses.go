package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// long is before any time of a history: nothing touched the lock.
const long = -history.Never

// use says what else touched the lock of one ask, and when.
type use struct {
	before history.Time // end of the latest use by another process that was called earlier
	own    history.Time // the same for the ask's own process, of the uses that may have left keys behind
	after  int          // call of the next ask of another process; open if there is none
}

// uses fills in t.touched for every ask.
func (t *trace) uses() {
	t.listCalm()
	t.touched = slices.Grow(t.touched[:0], len(t.asks))[:len(t.asks)]
	for i := range t.locks {
		asks := t.locks[i].asks
		t.usesBefore(asks)
		t.usesOwn(asks)
		t.usesAfter(asks)
	}
}

// usesBefore goes along a lock's asks in the order of their calls, with the latest end so far and the latest of any
// other process than that one's.
func (t *trace) usesBefore(asks []int32) {
	var first history.Process
	latest, second := long, long
	for _, n := range asks {
		a := &t.asks[n]
		end := t.lets(a)
		u := &t.touched[n]
		if u.before = latest; a.process == first {
			u.before = second
		}
		switch {
		case a.process == first:
			latest = max(latest, end)
		case end > latest:
			first, latest, second = a.process, end, latest
		default:
			second = max(second, end)
		}
	}
}

// usesOwn lists what a process left behind itself. A use leaves nothing if its release returned ok and no fault was on
// from its call to the ask. It is enough to look at the process's latest use at each of its asks: a fault that is
// over by the call of a later use was known when that later one was looked at.
func (t *trace) usesOwn(asks []int32) {
	type past struct {
		latest int32 // -1: none
		left   history.Time
	}
	pasts := make([]past, len(t.processes))
	for i := range pasts {
		pasts[i] = past{-1, long}
	}
	for _, n := range asks {
		a := &t.asks[n]
		p := &pasts[t.number[a.process]]
		if p.latest >= 0 {
			b := &t.asks[p.latest]
			if !t.gaveBack(b) || b.call <= t.calmBefore(a.call) {
				p.left = max(p.left, t.lets(b))
			}
		}
		t.touched[n].own, p.latest = p.left, n
	}
}

func (t *trace) usesAfter(asks []int32) {
	for i := len(asks) - 1; i >= 0; i-- {
		u := &t.touched[asks[i]]
		switch {
		case i == len(asks)-1:
			u.after = open
		case t.asks[asks[i+1]].process == t.asks[asks[i]].process:
			u.after = t.touched[asks[i+1]].after
		default:
			u.after = t.asks[asks[i+1]].call
		}
	}
}

// lets is when the client has let go of the lock: the return of its release, or of an acquire that was not granted.
func (t *trace) lets(a *ask) history.Time {
	if a.grant < 0 {
		return t.time(a.ret)
	}
	g := &t.grants[a.grant]
	if g.release == open {
		return t.time(g.end)
	}
	if g.done == open {
		return t.time(max(g.end, g.release))
	}
	return t.time(max(g.end, g.done))
}

// gaveBack reports whether the ask was granted and its release returned ok.
func (t *trace) gaveBack(a *ask) bool {
	if a.grant < 0 {
		return false
	}
	done := t.grants[a.grant].done
	return done != open && t.h.Events[done].Type == history.OK
}

// undisturbed reports whether ask n found its lock without residue and nobody else asked for it up to position end.
func (t *trace) undisturbed(n int32, end int) bool {
	u := &t.touched[n]
	since := t.time(t.asks[n].call) - t.h.Header.TTL
	return u.before < since && u.own < since && u.after > end
}
