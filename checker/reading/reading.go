// Package reading turns recorded histories into the one that the laws judge: histories of several machines become one,
// releases that released nothing under the strict reading are left out, and the acquires of one owner nest.
//
// Goals: the laws, the plots and the figures all use the same history and know nothing of readings. An event that stays
// keeps its index. Non-goals: reading files; judging.
package reading

import (
	"github.com/fencepost-sim/fencepost/checker/history"
)

// removed counts what a reading removed from a history.
type removed struct {
	Releases int // those that failed, and so released nothing
	Nested   int // acquires by an owner that already held the lock
}

// of applies the reading that the header of h names, and nests acquires if it says so. It does not change h.
//
// Under history.Strict a release that failed released nothing: its call and its return are left out. One with an
// unknown outcome may have released, as under history.Default, and ends the section when it is called.
//
// Nested acquires of an owner, and as many of its releases, are left out; one that states a lease extends it. The owner
// is the attempt, or if none is named, the process. An exclusive acquire within a shared hold is not nested.
func of(h *history.History) (*history.History, removed) {
	n := nesting{events: h.Events, drop: map[int]bool{}, becomes: map[int]history.F{}, tasks: map[taskName]*task{}}
	var left removed
	if h.Header.Reading == history.Strict {
		left.Releases = n.failed()
	}
	if h.Header.Reentrant {
		left.Nested = n.nested()
	}
	if len(n.drop)+len(n.becomes) == 0 {
		return h, left
	}
	out := &history.History{Header: h.Header}
	for i, e := range h.Events {
		if n.drop[i] {
			continue
		}
		if f, ok := n.becomes[i]; ok {
			e.F = f
		}
		out.Events = append(out.Events, e)
	}
	return out, left
}

// taskName identifies a process and a lock.
type taskName struct {
	process history.Process
	lock    history.Lock
}

// task is what the process is doing about the lock.
type task struct {
	acquires []int // positions of the calls that have not returned
	releases []int
	holds    []hold
}

// hold is a lock held by one owner, count times.
type hold struct {
	attempt history.Attempt
	shared  bool
	times   int
}

// nesting walks through the events and records what becomes of them.
type nesting struct {
	events  []history.Event
	drop    map[int]bool
	becomes map[int]history.F
	tasks   map[taskName]*task
}

func (n *nesting) task(e *history.Event) *task {
	name := taskName{e.Process, e.Lock}
	if n.tasks[name] == nil {
		n.tasks[name] = &task{}
	}
	return n.tasks[name]
}

// failed drops releases that failed, and counts them.
func (n *nesting) failed() (count int) {
	clear(n.tasks)
	for i := range n.events {
		e := &n.events[i]
		switch {
		case e.Process == history.Nemesis:
		case e.F == history.Crashed:
			n.crashed(e.Process)
		case e.F == history.Release && e.Type == history.Invoke:
			t := n.task(e)
			t.releases = append(t.releases, i)
		case e.F == history.Release:
			call := n.called(&n.task(e).releases, e)
			if e.Type == history.Fail {
				n.drop[i], count = true, count+1
				if call >= 0 {
					n.drop[call] = true
				}
			}
		}
	}
	return count
}

// called removes from a list the call whose return is e, -1 if there is none: the one that names its attempt; failing
// that, the oldest if either names none.
func (n *nesting) called(list *[]int, e *history.Event) int {
	found := -1
	for k, i := range *list {
		a := n.events[i].Attempt
		if a == e.Attempt {
			found = k
			break
		}
		if found < 0 && (a == "" || e.Attempt == "") {
			found = k
		}
	}
	if found < 0 {
		return -1
	}
	call := (*list)[found]
	*list = append((*list)[:found:found], (*list)[found+1:]...)
	return call
}

func (n *nesting) crashed(p history.Process) {
	for name, t := range n.tasks {
		if name.process == p {
			*t = task{}
		}
	}
}

// nested drops what an owner does to a lock that it holds and continues to hold. It counts the acquires.
func (n *nesting) nested() (count int) {
	clear(n.tasks)
	for i := range n.events {
		e := &n.events[i]
		if n.drop[i] || e.Process == history.Nemesis {
			continue
		}
		switch e.F {
		case history.Acquire:
			if n.acquire(i, e) {
				count++
			}
		case history.Release:
			n.release(i, e)
		case history.Lost:
			n.end(n.task(e), e.Attempt)
		case history.Crashed:
			n.crashed(e.Process)
		}
	}
	return count
}

// acquire reports whether the event is the return of a nested acquire.
func (n *nesting) acquire(i int, e *history.Event) bool {
	t := n.task(e)
	if e.Type == history.Invoke {
		t.acquires = append(t.acquires, i)
		return false
	}
	call := n.called(&t.acquires, e)
	if e.Type != history.OK {
		return false
	}
	shared := e.Shared || call >= 0 && n.events[call].Shared
	for k := range t.holds {
		h := &t.holds[k]
		if h.attempt != e.Attempt || h.shared && !shared {
			continue
		}
		h.times++
		n.within(call, e.Grant != nil)
		n.within(i, e.Grant != nil)
		return true
	}
	t.holds = append(t.holds, hold{e.Attempt, shared, 1})
	return false
}

// within records that the event at position i belongs to a nested acquire.
func (n *nesting) within(i int, lease bool) {
	switch {
	case i < 0:
	case lease:
		n.becomes[i] = history.Extend
	default:
		n.drop[i] = true
	}
}

func (n *nesting) release(i int, e *history.Event) {
	t := n.task(e)
	if e.Type != history.Invoke {
		if call := n.called(&t.releases, e); call >= 0 {
			if n.drop[call] {
				n.drop[i] = true
			}
			return
		}
	} else {
		t.releases = append(t.releases, i)
	}
	for k := len(t.holds) - 1; k >= 0; k-- {
		h := &t.holds[k]
		if e.Attempt != "" && h.attempt != e.Attempt {
			continue
		}
		if h.times--; h.times > 0 {
			n.drop[i] = true
		} else {
			n.end(t, h.attempt)
		}
		return
	}
}

// end forgets the hold of an attempt.
func (n *nesting) end(t *task, a history.Attempt) {
	for k := len(t.holds) - 1; k >= 0; k-- {
		if a == "" || t.holds[k].attempt == a {
			t.holds = append(t.holds[:k:k], t.holds[k+1:]...)
			return
		}
	}
}
