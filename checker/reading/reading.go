// Package reading turns recorded histories into the single history that the laws check. It reads files and merges
// histories from several machines. Under the strict reading, it drops failed releases, because they did not release
// anything. It also resolves nested acquires by the same owner.
//
// Goals: the laws, the plots and the metrics all use the same history. They need not know how failed releases and
// nested acquires are interpreted.
//
// Non-goals: checking the history.
package reading

import (
	"github.com/fencepost-sim/fencepost/checker/history"
)

// removed counts the events that were removed from a history before it was judged.
type removed struct {
	Releases int // number of failed releases, which released nothing
	Nested   int // number of acquires by an owner that already held the lock
}

// prepare prepares h for the laws: it interprets failed releases as the header's Reading says, and removes nested
// acquires if the header says that acquires nest. It does not change h. The remaining events keep their indexes.
//
// Under history.Strict, a failed release did not release anything: its call and its return are removed. A release with
// an unknown outcome may have released the lock, so it ends the section when it is called, as under history.Default.
//
// An owner's nested acquires are removed, together with the same number of its releases. A nested acquire with a lease
// becomes an extension. The owner is the attempt, or the process if no attempt is named. An exclusive acquire during a
// shared hold is not nested.
func prepare(h *history.History) (*history.History, removed) {
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

// taskName identifies a task by its process and its lock.
type taskName struct {
	process history.Process
	lock    history.Lock
}

// task is what a process is doing with a lock.
type task struct {
	acquires []int // positions of calls that have not returned
	releases []int
	holds    []hold
}

// hold is a lock that one owner holds, with the number of times that the owner has acquired it.
type hold struct {
	attempt history.Attempt
	shared  bool
	times   int
}

// nesting visits the events, and records which of them are dropped and which become other events.
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

// failed drops failed releases along with their calls. It returns how many it dropped.
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

// called finds the call that the return e belongs to, and removes it from the list. This is the call by the same
// attempt. If there is none, it is the oldest call that could belong to e because the call or e does not name an
// attempt. called returns -1 if there is no such call, either.
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

// nested drops acquires by an owner that already holds the lock, and releases after which the owner still holds it. It
// returns the number of acquires dropped.
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
		n.handleNested(call, e.Grant != nil)
		n.handleNested(i, e.Grant != nil)
		return true
	}
	t.holds = append(t.holds, hold{e.Attempt, shared, 1})
	return false
}

// handleNested handles the event at position i, which belongs to a nested acquire. The event becomes an extension if
// the acquire has a lease. Otherwise, it is dropped.
func (n *nesting) handleNested(i int, lease bool) {
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

// end removes the most recent hold of attempt a. If a is empty, it removes the most recent hold of any attempt.
func (n *nesting) end(t *task, a history.Attempt) {
	for k := len(t.holds) - 1; k >= 0; k-- {
		if a == "" || t.holds[k].attempt == a {
			t.holds = append(t.holds[:k:k], t.holds[k+1:]...)
			return
		}
	}
}
