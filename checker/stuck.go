package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// never is later than any time of a history: a lock that somebody gets on with.
const never = history.Never

// stuck is a waiter that was stuck for too long.
type stuck struct {
	ask          int32
	at           int // position up to which the state below is taken
	since, until history.Time
	cycle        []int32 // asks that wait in a circle, empty if it is none
	root         int32   // where following waiters to holders who wait ends: the last ask, of the lock that blocks all
	holders      []int32 // open holds of the root's lock
}

// standstill replays who waits for and who holds which lock, and keeps for each lock since when it stands still.
type standstill struct {
	t       *trace
	holders [][]int32      // by lock: open sections
	waiting []int32        // open asks
	since   []history.Time // by lock: when it began, or will begin, to stand still; never if somebody gets on with it
	before  []history.Time // since, as it was before the turns under way
}

// firstStuck finds the first waiter that was stuck for longer than limit after the last fault.
func (t *trace) firstStuck(calm int, limit history.Time) (stuck, bool) {
	s := standstill{t: t, holders: make([][]int32, len(t.locks)), since: make([]history.Time, len(t.locks)), before: make([]history.Time, len(t.locks))}
	for turns := t.turns(); len(turns) > 0; {
		at := turns[0].at
		if at > calm {
			if found, ok := s.overdue(at, calm, limit); ok {
				return found, true
			}
		}
		n := 1
		for n < len(turns) && turns[n].at == at { // a crash ends several holds and waits at once
			n++
		}
		s.pass(t.time(at), turns[:n])
		turns = turns[n:]
	}
	return s.overdue(open, calm, limit)
}

// pass carries out the turns of one moment. A lock that stood still before and after it has stood still throughout,
// unless it was acquired, or a holder left it alive and so got on: for those who wait a crash changes nothing.
func (s *standstill) pass(now history.Time, turns []turn) {
	copy(s.before, s.since)
	for _, u := range turns {
		if u.sort == getHold || u.sort == endHold && s.t.grants[u.n].ending != crashed {
			s.before[s.t.grants[u.n].lock] = never
		}
		s.apply(u)
	}
	s.settle(now)
	for l := range s.since {
		if s.before[l] <= now && s.since[l] <= now {
			s.since[l] = s.before[l]
		}
	}
}

// turn is one change of who waits or holds.
type turn struct {
	at   int
	sort turnSort
	n    int32 // of the ask, or of the grant
}

type turnSort uint8

const (
	endHold  turnSort = iota // a section ends
	endWait                  // an acquire returns
	getHold                  // a section begins
	makeWait                 // an acquire is called
)

func (t *trace) turns() []turn {
	var turns []turn
	for n := range t.asks {
		a := &t.asks[n]
		turns = append(turns, turn{a.call, makeWait, int32(n)}, turn{a.ret, endWait, int32(n)})
	}
	for n := range t.grants {
		g := &t.grants[n]
		turns = append(turns, turn{g.ok, getHold, int32(n)}, turn{g.end, endHold, int32(n)})
	}
	turns = slices.DeleteFunc(turns, func(u turn) bool { return u.at == open })
	slices.SortStableFunc(turns, func(a, b turn) int { return a.at - b.at })
	return turns
}

func (s *standstill) apply(u turn) {
	drop := func(list []int32) []int32 { return slices.DeleteFunc(list, func(n int32) bool { return n == u.n }) }
	switch u.sort {
	case makeWait:
		s.waiting = append(s.waiting, u.n)
	case endWait:
		s.waiting = drop(s.waiting)
	case getHold:
		l := s.t.grants[u.n].lock
		s.holders[l] = append(s.holders[l], u.n)
	case endHold:
		l := s.t.grants[u.n].lock
		s.holders[l] = drop(s.holders[l])
	}
}

// overdue looks at the moment before position at for the waiter that has been stuck longest, and for longer than limit.
func (s *standstill) overdue(at, calm int, limit history.Time) (stuck, bool) {
	now := s.t.time(at)
	longest, since := int32(-1), now-limit
	for _, n := range s.waiting {
		a := &s.t.asks[n]
		if from := max(s.t.time(a.call), s.since[a.lock], s.t.calmTime(calm)); from < since {
			longest, since = n, from
		}
	}
	if longest < 0 {
		return stuck{}, false
	}
	cycle, root := s.follow(longest)
	return stuck{ask: longest, at: at, since: since, until: now, cycle: cycle, root: root,
		holders: slices.Clone(s.holders[s.t.asks[root].lock])}, true
}

// settle computes the greatest set of locks that stand still from now on, or from a later moment on if nothing else
// happens. It starts from the belief that all do, and corrects upwards until nothing changes, so that a circle of waiters
// stays in.
func (s *standstill) settle(now history.Time) {
	for l := range s.since {
		s.since[l] = now
	}
	for changed := true; changed; {
		changed = false
		for l := range s.since {
			for _, g := range s.holders[l] {
				if from := s.holderStuck(g); from > s.since[l] {
					s.since[l], changed = from, true
				}
			}
		}
	}
}

// holderStuck is the moment from which holder n counts as stuck: when it began to wait for a lock that stands still, or
// when its uncapped hold had lasted the declared hold.
func (s *standstill) holderStuck(n int32) history.Time {
	g := &s.t.grants[n]
	from := never
	if s.t.h.Header.Uncapped {
		from = s.t.time(g.ok) + s.t.h.Header.Hold
	}
	for _, w := range s.waiting {
		if a := &s.t.asks[w]; a.process == g.process {
			from = min(from, max(s.t.time(a.call), s.since[a.lock]))
		}
	}
	return from
}

// follow goes from waiter n to a holder of its lock that waits too, and so on, until it comes round or ends.
func (s *standstill) follow(n int32) (cycle []int32, root int32) {
	var path []int32
	for {
		if i := slices.Index(path, n); i >= 0 {
			return path[i:], n
		}
		path = append(path, n)
		next := slices.IndexFunc(s.waiting, func(w int32) bool {
			return slices.ContainsFunc(s.holders[s.t.asks[n].lock], func(g int32) bool { return s.t.grants[g].process == s.t.asks[w].process })
		})
		if next < 0 {
			return nil, n
		}
		n = s.waiting[next]
	}
}
