package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Long stands in for the time of a lock's latest use if the lock has never been used. It is earlier than any time in a
// history.
const Long = -history.Never

// use says, for one acquire, when other acquires used the lock.
type use struct {
	before history.Time // end of the latest use by another process, among the acquires that were called before
	own    history.Time // the same for earlier uses by the acquire's own process, if they may have left keys behind
	// position of the call of the next acquire by another process, or by another task while this acquire is in
	// progress; Open if there is none
	after int
}

// Uses computes, for every acquire, the times at which other acquires used its lock. It stores the result in t.touched.
func (t *Trace) Uses() {
	t.listCalm()
	t.touched = slices.Grow(t.touched[:0], len(t.Asks))[:len(t.Asks)]
	for i := range t.Locks {
		asks := t.Locks[i].Asks
		t.usesBefore(asks)
		t.usesOwn(asks)
		t.usesAfter(asks)
	}
}

// usesBefore stores, for each acquire of a lock, the latest end of an earlier use by another process. It visits the
// acquires in call order. Meanwhile, it remembers the latest end of any use, the process of that use, and the latest
// end of the other processes' uses.
func (t *Trace) usesBefore(asks []int32) {
	var first history.Process
	latest, second := Long, Long
	for _, n := range asks {
		a := &t.Asks[n]
		end := t.finished(a)
		u := &t.touched[n]
		if u.before = latest; a.Process == first {
			u.before = second
		}
		switch {
		case a.Process == first:
			latest = max(latest, end)
		case end > latest:
			first, latest, second = a.Process, end, latest
		default:
			second = max(second, end)
		}
	}
}

// usesOwn stores, for each acquire of a lock, the latest end of the same process's earlier uses that may have left keys
// behind. A use leaves nothing behind if its release returned ok and no fault was active between the use's call and the
// new acquire.
//
// It is enough to check for faults since the call of the process's latest use: earlier faults were taken into account
// when usesOwn visited that use. If a use is still in progress when the new acquire is called, it belongs to another of
// the process's tasks, and also counts.
func (t *Trace) usesOwn(asks []int32) {
	type past struct {
		latest int32 // index of the latest use; -1 if there is none
		left   history.Time
		over   int          // the latest position at which a use ended
		end    history.Time // the latest end of a use
	}
	pasts := make([]past, len(t.processes))
	for i := range pasts {
		pasts[i] = past{-1, Long, -1, Long}
	}
	for _, n := range asks {
		a := &t.Asks[n]
		p := &pasts[t.Number[a.Process]]
		if p.latest >= 0 {
			b := &t.Asks[p.latest]
			p.over, p.end = max(p.over, t.ended(b)), max(p.end, t.finished(b))
			if !t.gaveBack(b) {
				p.left = max(p.left, t.finished(b))
			}
			if b.Call <= t.calmBefore(a.Call) {
				p.left = max(p.left, p.end)
			}
		}
		t.touched[n].own, p.latest = p.left, n
		if p.over > a.Call {
			t.touched[n].own = max(p.left, t.Time(a.Call))
		}
	}
}

func (t *Trace) usesAfter(asks []int32) {
	other := Open // the call of the next acquire by another process
	for i := len(asks) - 1; i >= 0; i-- {
		u := &t.touched[asks[i]]
		if u.after = other; i == len(asks)-1 {
			continue
		}
		a, next := &t.Asks[asks[i]], &t.Asks[asks[i+1]]
		if next.Process != a.Process {
			other = next.Call
		}
		if u.after = other; next.Call < a.Ret {
			u.after = next.Call
		}
	}
}

// finished returns the time at which the client gave up the lock: its release returned or, if the acquire was not
// granted, the acquire did.
func (t *Trace) finished(a *Ask) history.Time { return t.Time(t.ended(a)) }

// ended returns the position at which the client gave up the lock. See finished.
func (t *Trace) ended(a *Ask) int {
	if a.Grant < 0 {
		return a.Ret
	}
	g := &t.Grants[a.Grant]
	for _, at := range [...]int{g.Done, g.Release} {
		if at != Open {
			return max(g.End, at)
		}
	}
	return g.End
}

// gaveBack reports whether the acquire was granted and its release returned ok.
func (t *Trace) gaveBack(a *Ask) bool {
	if a.Grant < 0 {
		return false
	}
	done := t.Grants[a.Grant].Done
	return done != Open && t.History.Events[done].Type == history.OK
}

// Undisturbed reports whether nothing stood in the way of acquire n. Within the last TTL, no other process had used its
// lock, its own process had not left any keys behind, and no restart had lost its client's session. And nobody else
// requested the lock up to position end.
func (t *Trace) Undisturbed(n int32, end int) bool {
	u := &t.touched[n]
	since := t.Time(t.Asks[n].Call) - t.History.Header.TTL
	return u.before < since && u.own < since && u.after > end && !t.sessionsLost(since, t.Asks[n].Call)
}

// sessionsLost reports whether a service's only member restarted without its disk, and therefore without any sessions,
// between the given time and the given call. A client may be slow to notice this: ZooKeeper rejects clients that have
// seen a later state than its own.
func (t *Trace) sessionsLost(since history.Time, call int) bool {
	h := &t.History.Header
	return h.OnlyMember() && h.Service.Kind().Sessions && slices.ContainsFunc(t.Faults, func(f Fault) bool {
		return f.Loses == history.LosesEverything && f.Stop < call && t.Time(f.Stop) > since
	})
}
