package claims

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Section is one hold of a lock as its client saw it, computed from the history independently of the checker. The
// numeric fields are event indices, or Open if there was no such event.
type Section struct {
	Process history.Process
	Lock    history.Lock
	Attempt history.Attempt
	Shared  bool
	Grants  []int // indices of the events "acquire ok" and "extend ok"
	End     int   // when the client called release, learned that the lock was lost, or crashed
	Release int   // when the client called release
}

// Open stands for the index of an event that does not exist.
const Open = -1

// Sections returns a history's sections in the order in which they began.
func Sections(h *history.History) (all []*Section) {
	of := func(e *history.Event) *Section {
		for _, s := range slices.Backward(all) {
			if s.Process == e.Process && s.Lock == e.Lock && s.Attempt == e.Attempt {
				return s
			}
		}
		return &Section{}
	}
	end := func(s *Section, i int) {
		if s.End == Open {
			s.End = i
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		switch {
		case e.F == history.Acquire && e.Type == history.OK:
			all = append(all, &Section{e.Process, e.Lock, e.Attempt, e.Shared, []int{i}, Open, Open})
		case e.F == history.Extend && e.Type == history.OK:
			s := of(e)
			s.Grants = append(s.Grants, i)
		case e.F == history.Release && e.Type == history.Invoke:
			s := of(e)
			end(s, i)
			if s.Release == Open {
				s.Release = i
			}
		case e.F == history.Lost:
			end(of(e), i)
		case e.F == history.Crashed:
			for _, s := range all {
				if s.Process == e.Process {
					end(s, i)
				}
			}
		}
	}
	return all
}

// Overlaps returns the pairs of sections that overlap, have the same lock and are not both shared. They are ordered by
// the beginning of the second section, and then by the beginning of the first.
func Overlaps(h *history.History) (pairs [][2]*Section) {
	all := Sections(h)
	for j, b := range all {
		for _, a := range all[:j] {
			if a.Lock == b.Lock && !(a.Shared && b.Shared) && (a.End == Open || a.End > b.Grants[0]) {
				pairs = append(pairs, [2]*Section{a, b})
			}
		}
	}
	return pairs
}

// Crowds returns a crowd for each section that began while all of its lock's permits were in use. A crowd lists the
// sections that were using the permits, in the order in which they began, followed by the new section.
func Crowds(h *history.History) (crowds [][]*Section) {
	all := Sections(h)
	for i, b := range all {
		var crowd []*Section
		for _, a := range all[:i] {
			if a.Lock == b.Lock && (a.End == Open || a.End > b.Grants[0]) {
				crowd = append(crowd, a)
			}
		}
		if len(crowd) >= max(h.Header.Permits, 1) {
			crowds = append(crowds, append(crowd, b))
		}
	}
	return crowds
}
