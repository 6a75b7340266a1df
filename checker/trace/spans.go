package trace

import (
	"cmp"
	"math"
	"slices"
)

// Span is a half-open interval in which a lock is held. It is either a critical section, measured in positions in the
// history, or a lease, measured in true time. A span may end where it starts, and a critical section may even end
// before it starts (see Trace.Sections). Such a span overlaps only spans that strictly contain it.
type Span struct {
	From, To int64
	Grant    int32
	At       int // position of the event that states the span; lists of spans are sorted by it
	Shared   bool
	goesOn   bool  // the grant's next span begins where this one ends
	before   int32 // index of the grant's previous window, or none; used only while windows are listed
}

// clash reports whether two spans violate mutual exclusion: they belong to different grants, they are not both shared,
// and they overlap.
func (a *Span) clash(b *Span) bool {
	return a.Grant != b.Grant && !(a.Shared && b.Shared) && a.reaches(b) && b.reaches(a)
}

// reaches reports whether span a is still in progress when span b begins.
func (a *Span) reaches(b *Span) bool {
	return b.From < a.To || a.goesOn && b.isInstant() && b.From == a.To
}

// isInstant reports whether a span ends where it begins.
func (a *Span) isInstant() bool { return a.From == a.To }

// interval finds clashing spans without comparing all pairs.
type interval struct {
	sorted          []Span
	soonest         []int64 // at each index: the earliest start among the spans from this index on
	alone, together []int   // indexes of earlier spans that may overlap later ones: exclusive and shared spans
}

// First returns the first of the pairs of clashing spans, in the order in which clashes returns them.
func (v *interval) First(spans []Span) (i, j int, found bool) {
	pairs := v.clashes(spans, 1)
	if len(pairs) == 0 {
		return 0, 0, false
	}
	return pairs[0][0], pairs[0][1], true
}

// clashes returns the index pairs i < j of clashing spans, sorted by j and then by i. It returns at most the given
// number of pairs. Its running time is proportional to the sum of three numbers: the number of spans, the number of
// pairs up to the last one returned, and the number of spans that began earlier than some span before them in the list.
func (v *interval) clashes(spans []Span, most int) (pairs [][2]int) {
	if !v.anyClash(spans) {
		return nil
	}
	v.soonestStarts(spans)
	v.alone, v.together = v.alone[:0], v.together[:0]
	for j := range spans {
		s := &spans[j]
		before := len(pairs)
		meet := func(open []int) []int {
			return slices.DeleteFunc(open, func(i int) bool {
				if spans[i].clash(s) {
					pairs = append(pairs, [2]int{i, j})
				}
				return spans[i].To < v.soonest[j]
			})
		}
		v.alone = meet(v.alone)
		if s.Shared {
			v.together = append(v.together, j)
		} else {
			v.together = meet(v.together)
			v.alone = append(v.alone, j)
		}
		slices.SortFunc(pairs[before:], func(a, b [2]int) int { return a[0] - b[0] })
		if len(pairs) >= most {
			return pairs[:most]
		}
	}
	return pairs
}

// soonestStarts computes v.soonest, which contains, for each index, the earliest start among the spans from this index
// on.
func (v *interval) soonestStarts(spans []Span) {
	v.soonest = slices.Grow(v.soonest[:0], len(spans))[:len(spans)]
	soonest := int64(math.MaxInt64)
	for j := range slices.Backward(spans) {
		soonest = min(soonest, spans[j].From)
		v.soonest[j] = soonest
	}
}

// anyClash reports whether any two spans clash. It visits the spans in the order of their starts. Of the spans that it
// has visited, it remembers only two: the exclusive one and the shared one that end last. This is enough. Suppose that
// a remembered span does not clash with a new one, because both belong to the same grant, but that another earlier span
// overlaps the new one. Then both earlier spans contain the start of the new one, so they clash with each other.
func (v *interval) anyClash(spans []Span) bool {
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
				return true
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
	return false
}

// byStart orders spans by their starts, or by their ends if they end before they start. If several spans start
// together, those that are instants or end before they start come first, because the other spans do not strictly
// contain them.
func byStart(a, b Span) int {
	contained := func(s *Span) int {
		if s.To <= s.From {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(min(a.From, a.To), min(b.From, b.To)), cmp.Compare(contained(&a), contained(&b)),
		cmp.Compare(a.At, b.At))
}
