package trace

import (
	"cmp"
	"slices"
	"sort"
)

// Span is a half-open interval in which a lock is held: of positions for sections, of true time for leases. One that
// ends where it begins is an instant, and overlaps only spans that contain it strictly.
type Span struct {
	From, To int64
	Grant    int32
	At       int // position at which the history says so; lists of spans ascend in it
	Shared   bool
	goesOn   bool  // the grant's next span begins where this one ends
	before   int32 // while windows are listed: the place of the grant's previous one, or none
}

// clash reports whether two spans contradict the lock: different grants, not both shared, one instant in common.
func (a *Span) clash(b *Span) bool {
	return a.Grant != b.Grant && !(a.Shared && b.Shared) && a.reaches(b) && b.reaches(a)
}

// reaches reports whether a has not ended where b begins.
func (a *Span) reaches(b *Span) bool {
	return b.From < a.To || a.goesOn && b.isInstant() && b.From == a.To
}

// isInstant reports whether a span begins and ends at once.
func (a *Span) isInstant() bool { return a.From == a.To }

// interval is the fast check: it finds the first two spans that clash.
type interval struct{ sorted []Span }

// First returns places i < j in spans such that they clash, j is as small as possible, and for that j so is i.
func (v *interval) First(spans []Span) (i, j int, found bool) {
	last, found := v.anyClash(spans)
	if !found {
		return 0, 0, false
	}
	j = sort.Search(len(spans), func(n int) bool { return spans[n].At >= last })
	if !slices.IsSortedFunc(spans, byStart) {
		// A longer prefix clashes whenever a shorter one does, from the later span of some clash on.
		j = sort.Search(j, func(n int) bool { _, clashes := v.anyClash(spans[:n+1]); return clashes })
	}
	for i = range spans[:j] {
		if spans[i].clash(&spans[j]) {
			return i, j, true
		}
	}
	return 0, 0, false
}

// anyClash sweeps over the spans by their start, and returns the position at which the later of two that clash is
// stated. Of the spans that began earlier it is enough to remember, for each kind, the one that ends last: if that
// belongs to the same grant as the new one, and another that began earlier reaches into the new one too, then those two
// share the instant at which the new one begins, and so clash themselves.
func (v *interval) anyClash(spans []Span) (at int, found bool) {
	if !slices.IsSortedFunc(spans, byStart) {
		v.sorted = append(v.sorted[:0], spans...)
		slices.SortFunc(v.sorted, byStart)
		spans = v.sorted
	}
	var alone, together *Span
	for i := range spans {
		s := &spans[i]
		for _, o := range [2]*Span{alone, together} {
			if o != nil && o.clash(s) {
				return max(o.At, s.At), true
			}
		}
		last := &alone
		if s.Shared {
			last = &together
		}
		if *last == nil || (*last).To < s.To || (*last).To == s.To && s.goesOn {
			*last = s
		}
	}
	return 0, false
}

// byStart puts an instant before spans that begin there: they do not contain it.
func byStart(a, b Span) int {
	switch {
	case a.From != b.From:
		return cmp.Compare(a.From, b.From)
	case a.isInstant() && !b.isInstant():
		return -1
	case b.isInstant() && !a.isInstant():
		return 1
	}
	return cmp.Compare(a.At, b.At)
}
