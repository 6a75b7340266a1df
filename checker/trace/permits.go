package trace

import "slices"

// Permits returns how many clients may hold a lock at the same time. It is 1 unless the locks are semaphores.
func (t *Trace) Permits() int { return max(1, t.History.Header.Permits) }

// Crowds returns the groups of spans that violate mutual exclusion for a lock with the given number of permits. A group
// has one span more than there are permits. Its spans belong to different grants, and any two of them clash. Intervals
// that overlap pairwise have an instant in common, so all these holders held the lock at once.
//
// Each group is a list of ascending indexes. The groups are sorted by their last span. The parameter most limits their
// number. With one permit, each pair that clashes is a group. With several permits, there are too many groups to list
// them all, so for each last span, Crowds returns only the group whose other spans come first in the list.
func (v *interval) Crowds(spans []Span, permits, most int) (groups [][]int) {
	if permits == 1 {
		for _, p := range v.clashes(spans, most) {
			groups = append(groups, []int{p[0], p[1]})
		}
		return groups
	}
	if len(spans) <= permits || !v.anyCrowd(spans, permits) {
		return nil
	}
	for j := range spans {
		if with := v.crowd(spans, clashing(spans, v.open(spans, j), j), permits); with != nil {
			groups = append(groups, append(with, j))
		}
		if len(groups) == most {
			break
		}
	}
	return groups
}

// FirstCrowd returns the first group that Crowds would return, or nil if there is none.
func (v *interval) FirstCrowd(spans []Span, permits int) []int {
	if groups := v.Crowds(spans, permits, 1); len(groups) > 0 {
		return groups[0]
	}
	return nil
}

// open returns the indexes of the spans before j that may overlap span j or a later one.
func (v *interval) open(spans []Span, j int) []int {
	if j == 0 {
		v.soonestStarts(spans)
		v.alone = v.alone[:0]
		return nil
	}
	v.alone = slices.DeleteFunc(append(v.alone, j-1), func(i int) bool { return spans[i].To < v.soonest[j] })
	return v.alone
}

// clashing returns the indexes of the spans that clash with the span at index target. It examines only the spans whose
// indexes are in candidates.
func clashing(spans []Span, candidates []int, target int) (all []int) {
	for _, i := range candidates {
		if spans[i].clash(&spans[target]) {
			all = append(all, i)
		}
	}
	return all
}

// crowd chooses n spans, any two of which clash, from the spans at the indexes in candidates. It returns their indexes,
// or nil if there are no such spans. It prefers earlier spans, and skips one only if too few of the later spans clash
// with it.
func (v *interval) crowd(spans []Span, candidates []int, n int) (chosen []int) {
	for len(chosen) < n && len(chosen)+len(candidates) >= n {
		i := candidates[0]
		if rest := clashing(spans, candidates[1:], i); len(chosen)+1+v.deepest(spans, rest) >= n {
			chosen, candidates = append(chosen, i), rest
		} else {
			candidates = candidates[1:]
		}
	}
	if len(chosen) < n {
		return nil
	}
	return chosen
}

// deepest returns the size of the largest group in which any two spans clash. It considers only the spans at the
// indexes in candidates. It uses the same method as anyCrowd.
func (v *interval) deepest(spans []Span, candidates []int) (most int) {
	sorted := slices.Clone(candidates)
	slices.SortFunc(sorted, func(i, j int) int { return byStart(spans[i], spans[j]) })
	for n, i := range sorted {
		most = max(most, 1+len(clashing(spans, sorted[:n], i)))
	}
	return most
}

// anyCrowd reports whether more spans clash at once than there are permits. It visits the spans by start time. All
// earlier spans that clash with a span contain its start, so they also clash with each other.
func (v *interval) anyCrowd(spans []Span, permits int) bool {
	v.sorted = append(v.sorted[:0], spans...)
	slices.SortFunc(v.sorted, byStart)
	v.alone = v.alone[:0]
	for j := range v.sorted {
		s := &v.sorted[j]
		v.alone = slices.DeleteFunc(v.alone, func(i int) bool { return v.sorted[i].To < min(s.From, s.To) })
		meet := 0
		for _, i := range v.alone {
			if v.sorted[i].clash(s) {
				meet++
			}
		}
		if meet >= permits {
			return true
		}
		v.alone = append(v.alone, j)
	}
	return false
}
