package checker

import (
	"cmp"
	"slices"
	"sort"
)

// span is a half-open interval in which a lock is held: of positions for sections, of true time for leases. At least
// one unit long, since a moment is held too.
type span struct {
	from, to int64
	grant    int32
	at       int // position at which the history says so; lists of spans ascend in it
	shared   bool
}

// clash reports whether two spans contradict the lock: different grants, not both shared, one instant in common.
func (a *span) clash(b *span) bool {
	return a.grant != b.grant && !(a.shared && b.shared) && a.from < b.to && b.from < a.to
}

// interval is the fast check: it finds the first two spans that clash.
type interval struct{ sorted []span }

// first returns places i < j in spans such that they clash, j is as small as possible, and for that j so is i.
func (v *interval) first(spans []span) (i, j int, found bool) {
	if !v.anyClash(spans) {
		return 0, 0, false
	}
	// A longer prefix clashes whenever a shorter one does.
	j = sort.Search(len(spans), func(n int) bool { return v.anyClash(spans[:n+1]) })
	for i = range spans[:j] {
		if spans[i].clash(&spans[j]) {
			return i, j, true
		}
	}
	return 0, 0, false
}

// anyClash sweeps over the spans by their start. Of the spans that began earlier it is enough to remember, of each
// sort, the one that ends last: if the last to end belongs to the same grant as the new one, and another that began
// earlier reached into the new one too, then those two shared the instant at which the new one begins, and so
// clashed before.
func (v *interval) anyClash(spans []span) bool {
	if !slices.IsSortedFunc(spans, byStart) {
		v.sorted = append(v.sorted[:0], spans...)
		slices.SortFunc(v.sorted, byStart)
		spans = v.sorted
	}
	var alone, together *span
	for i := range spans {
		s := &spans[i]
		if alone != nil && alone.clash(s) || together != nil && together.clash(s) {
			return true
		}
		last := &alone
		if s.shared {
			last = &together
		}
		if *last == nil || (*last).to < s.to {
			*last = s
		}
	}
	return false
}

func byStart(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.at, b.at)) }
