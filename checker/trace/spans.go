package trace

import (
	"cmp"
	"math"
	"slices"
)

// Span is a half-open interval in which a lock is held: of positions for sections, of true time for leases. One that
// ends where it begins is an instant, and one may end before it begins, as Trace.Sections says: these overlap only
// spans that contain them strictly.
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

// interval is the fast check: it finds the spans that clash.
type interval struct {
	sorted          []Span
	soonest         []int64 // by place: where the first span begins that is stated there or later
	alone, together []int   // places of earlier spans that later ones may reach: exclusive ones, and shared ones
}

// First returns the first of Clashes.
func (v *interval) First(spans []Span) (i, j int, found bool) {
	pairs := v.Clashes(spans, 1)
	if len(pairs) == 0 {
		return 0, 0, false
	}
	return pairs[0][0], pairs[0][1], true
}

// Clashes returns the places i < j in spans that clash, in the order of j and then of i, and no more than most pairs.
// It takes time in proportion to the number of spans, of clashes up to the last one returned, and of spans that began
// before others that were stated earlier.
func (v *interval) Clashes(spans []Span, most int) (pairs [][2]int) {
	if !v.anyClash(spans) {
		return nil
	}
	v.soonest = slices.Grow(v.soonest[:0], len(spans))[:len(spans)]
	soonest := int64(math.MaxInt64)
	for j := range slices.Backward(spans) {
		soonest = min(soonest, spans[j].From)
		v.soonest[j] = soonest
	}
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

// anyClash reports whether any two spans clash. It sweeps over them by their start. Of the spans that began earlier it
// is enough to remember, for each kind, the one that ends last: if that belongs to the same grant as the new one, and
// another that began earlier reaches into the new one too, then those two share the instant at which the new one
// begins, and so clash themselves.
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

// byStart orders spans by their start, or by their end if they end before it. An instant, and a span that ends before
// it begins, stand before the spans that begin there: these do not contain them.
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
