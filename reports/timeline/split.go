package timeline

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// stay is the time that a client spends with one lock, from requesting it until it leaves the section or is refused.
type stay struct {
	first, last   int // positions of its first and last event
	lock          history.Lock
	wait, section int // indices in the client's lane; -1 if there is none
}

// split gives several lanes to a client that does several things at once with one lock, such as a service with many
// goroutines. It uses as many lanes as it takes to keep them apart. Each stay (a request and the section that follows
// it) goes to the first lane that is free.
func (a *arranger) split() {
	var lanes []clientLane
	for i := range a.l.clients {
		lane := &a.l.clients[i]
		a.l.clientOf[lane.Process] = len(lanes)
		lanes = append(lanes, lane.separate(a.locks)...)
	}
	if len(lanes) == len(a.l.clients) {
		return
	}
	a.l.clients = lanes
	a.l.numberLanes()
}

// numberLanes records which lane each attempt is in, and the same for each event that begins or ends something.
func (l *Lanes) numberLanes() {
	l.laneOf, l.laneAt = newByTitle[int](l.madeBy.locks), map[int]int{}
	for i := range l.clients {
		lane := &l.clients[i]
		note := func(s span, of trace.Title) {
			l.laneAt[s.First], l.laneAt[s.Last] = i, i
			if of.Attempt != "" {
				l.laneOf.set(of, i)
			}
		}
		for k := range lane.Waits {
			note(lane.Waits[k].span, lane.Waits[k].title())
		}
		for k := range lane.Sections {
			note(lane.Sections[k].span, lane.Sections[k].title())
		}
	}
}

// stays lists the client's stays, in order.
func (c *clientLane) stays() []stay {
	all := make([]stay, 0, len(c.Waits))
	asked := make(map[int]int, len(c.Waits)) // maps the position at which a wait ended to the index of its stay in all
	for i := range c.Waits {
		w := &c.Waits[i]
		if w.Result == history.OK {
			asked[w.Last] = len(all)
		}
		all = append(all, stay{w.First, w.Last, w.Lock, i, -1})
	}
	for i := range c.Sections {
		s := &c.Sections[i]
		if k, ok := asked[s.First]; ok {
			all[k].last, all[k].section = s.Last, i
		} else {
			all = append(all, stay{s.First, s.Last, s.Lock, -1, i})
		}
	}
	slices.SortFunc(all, func(a, b stay) int { return cmp.Compare(a.first, b.first) })
	return all
}

// overlaps reports whether the client ever does two things with one lock at the same time.
func (c *clientLane) overlaps() bool {
	busy := map[history.Lock]int{} // the position until which the client is busy with the lock
	sections := c.Sections
	enter := func(until int) bool {
		for ; len(sections) > 0 && sections[0].First < until; sections = sections[1:] {
			s := &sections[0]
			if busy[s.Lock] > s.First {
				return true
			}
			busy[s.Lock] = s.Last
		}
		return false
	}
	for i := range c.Waits {
		w := &c.Waits[i]
		if enter(w.First) || busy[w.Lock] > w.First {
			return true
		}
		busy[w.Lock] = w.Last
	}
	return enter(open)
}

// separate splits the lane into several lanes, so that overlapping stays with one lock are in different lanes.
func (c *clientLane) separate(locks map[history.Lock]bool) []clientLane {
	if !c.overlaps() {
		return []clientLane{*c}
	}
	type track struct {
		lane int
		lock history.Lock
	}
	var lanes []clientLane
	free := map[track]int{} // the position from which the lane is free
	of := newByTitle[int](locks)
	for _, s := range c.stays() {
		n := 0
		for free[track{n, s.lock}] > s.first {
			n++
		}
		free[track{n, s.lock}] = s.last
		if n >= len(lanes) {
			lanes = append(lanes, clientLane{Process: c.Process, Pauses: c.Pauses, Crashes: c.Crashes, Clock: c.Clock})
		}
		if s.wait >= 0 {
			lanes[n].Waits = append(lanes[n].Waits, c.Waits[s.wait])
		}
		if s.section >= 0 {
			lanes[n].Sections = append(lanes[n].Sections, c.Sections[s.section])
			of.set(c.Sections[s.section].title(), n)
		}
	}
	for i := range lanes {
		lanes[i].Name = fmt.Sprintf("%s (%d)", c.Process, i+1)
	}
	for _, call := range c.Calls {
		n, _ := of.get(call.Of)
		to := &lanes[n]
		to.Calls = append(to.Calls, call)
	}
	return lanes
}
