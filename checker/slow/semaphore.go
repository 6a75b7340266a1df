package slow

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// permits returns how many clients may hold a lock at the same time.
func (r *reading) permits() int { return max(r.Header.Permits, 1) }

// choices returns all combinations of k of the numbers below n, in lexicographic order. The numbers in each combination
// ascend.
func choices(n, k int) (all [][]int) {
	if k == 0 {
		return [][]int{nil}
	}
	for last := range n {
		for _, c := range choices(last, k-1) {
			all = append(all, append(c, last))
		}
	}
	slices.SortFunc(all, slices.Compare[[]int])
	return all
}

// everyTwo reports whether all members of a group are related to each other.
func everyTwo[T any](group []T, related func(a, b T) bool) bool {
	for j, b := range group {
		for _, a := range group[:j] {
			if !related(a, b) {
				return false
			}
		}
	}
	return true
}

// crowds returns groups of elements of which every two are related. A group has one element more than there are
// permits. If several groups end with the same element, crowds returns only the first of them.
func crowds[T any](all []T, permits int, related func(a, b T) bool) (groups [][]T) {
	for j, last := range all {
		for _, c := range choices(j, permits) {
			var group []T
			for _, i := range c {
				group = append(group, all[i])
			}
			if group = append(group, last); everyTwo(group, related) {
				groups = append(groups, group)
				break
			}
		}
	}
	return groups
}

// crowdedWindows finds the times at which a semaphore had more valid leases than permits. It returns nothing if the
// lock has one permit.
func (r *reading) crowdedWindows(windows []window) (broken []Breach) {
	if r.permits() == 1 {
		return nil
	}
	for _, group := range crowds(windows, r.permits(), func(a, b window) bool { return r.overlap(&a, &b) }) {
		b := Breach{Broken: group[0].from}
		for _, w := range group {
			b.Events, b.Broken = append(b.Events, w.at), max(b.Broken, w.from)
		}
		broken = append(broken, b)
	}
	return broken
}

// crowdedSections finds the times at which a semaphore had more open critical sections than permits. uncertain reports
// whether there may have been more such times, because a process died at an unknown time.
func (r *reading) crowdedSections() (broken []Breach, uncertain bool) {
	certain := func(a, b *section) bool { return a.lock == b.lock && b.ok < a.left && a.ok < b.left }
	for _, group := range crowds(r.sections, r.permits(), certain) {
		b := Breach{Broken: r.time(group[len(group)-1].ok)}
		for _, s := range group {
			b.Events = append(b.Events, s.ok)
		}
		broken = append(broken, b)
	}
	possible := func(a, b *section) bool { return a.lock == b.lock && b.ok < a.end }
	return broken, len(crowds(r.sections, r.permits(), possible)) > 0
}

// endedByTaker reports whether a client removed a set member because the member had expired on the client's clock.
// (Servers never remove members by themselves.) It assumes so for every set member that is gone, with two exceptions.
// If an earlier fault has changed the clock of the member's server, it returns false. If the lock has only one permit,
// it also returns false unless an earlier fault has changed some client's clock.
func (r *reading) endedByTaker(gone int) bool {
	changed := func(processes ...history.Process) bool {
		return slices.ContainsFunc(r.faults, func(f fault) bool {
			return f.from < gone && f.does().IsClock() && slices.ContainsFunc(processes, f.strikes)
		})
	}
	e := r.Events[gone]
	return e.Member != "" && !changed(e.Process) && (r.permits() > 1 || changed(r.Header.Clients...))
}
