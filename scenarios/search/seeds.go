package search

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/text"
)

// Range is the set of seeds from First to Last, inclusive.
type Range struct{ First, Last uint64 } // First <= Last

// rangeOf returns the range of n seeds starting with first. n must be at least 1.
func rangeOf(first, n uint64) Range { return Range{first, first + (n - 1)} }

// count returns the number of seeds in the range, or math.MaxInt if there are more.
func (r Range) count() int { return int(min(r.Last-r.First, math.MaxInt-1) + 1) }

// String returns "51–70", or "51" for a single seed.
func (r Range) String() string {
	if r.First == r.Last {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d–%d", r.First, r.Last)
}

// MarshalJSON returns a JSON array of the form [first, last].
func (r Range) MarshalJSON() ([]byte, error) { return json.Marshal([2]uint64{r.First, r.Last}) }

// UnmarshalJSON decodes a JSON array of the form [first, last].
func (r *Range) UnmarshalJSON(b []byte) error {
	var bounds [2]uint64
	err := json.Unmarshal(b, &bounds)
	r.First, r.Last = bounds[0], bounds[1]
	return err
}

// Ranges is a set of seeds. The ranges are in ascending order, and any two are separated by a gap of at least one seed.
// Therefore, equal sets have equal values.
type Ranges []Range

// count returns the number of seeds in the set, or math.MaxInt if there are more.
func (r Ranges) count() int {
	n := 0
	for _, one := range r {
		n += min(one.count(), math.MaxInt-n)
	}
	return n
}

// union returns the union of the two sets. It may change r.
func (r Ranges) union(more Ranges) Ranges {
	for _, add := range more {
		if last := len(r) - 1; last >= 0 && r[last].Last+1 == add.First && add.First > 0 { // the usual case
			r[last].Last = add.Last
			continue
		}
		r = append(r, add)
	}
	slices.SortFunc(r, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	kept := r[:0]
	for _, one := range r {
		if last := len(kept) - 1; last >= 0 && (one.First <= kept[last].Last || one.First-1 == kept[last].Last) {
			kept[last].Last = max(kept[last].Last, one.Last)
			continue
		}
		kept = append(kept, one)
	}
	return kept
}

// without returns the seeds in r that are not in others.
func (r Ranges) without(others Ranges) (left Ranges) {
	for _, one := range r {
		whole := true // whether one, or the rest of it, must still be added
		for _, gone := range others {
			if gone.Last < one.First || gone.First > one.Last {
				continue
			}
			if gone.First > one.First {
				left = append(left, Range{one.First, gone.First - 1})
			}
			if whole = gone.Last < one.Last; !whole {
				break
			}
			one.First = gone.Last + 1
		}
		if whole {
			left = append(left, one)
		}
	}
	return left
}

// common returns the seeds that are in both r and other.
func (r Ranges) common(other Ranges) Ranges { return r.without(r.without(other)) }

// portions returns how many portions the ranges are divided into. A portion ends just before a multiple of size, or at
// the end of its range.
func (r Ranges) portions(size uint64) (n int) {
	for _, one := range r {
		n += int(one.Last/size-one.First/size) + 1
	}
	return n
}

// portion returns the ith portion of the set, counting from 0.
func (r Ranges) portion(i int, size uint64) Range {
	for _, one := range r {
		n := one.Last/size - one.First/size
		if uint64(i) > n {
			i -= int(n) + 1
			continue
		}
		start := (one.First/size + uint64(i)) * size
		return Range{max(one.First, start), start + min(size-1, one.Last-start)}
	}
	panic("search: there is no such portion")
}

// consistent reports whether r is a valid set of seeds within the given range. Its ranges must be in ascending order,
// with gaps between them.
func (r Ranges) consistent(within Range) bool {
	for i, one := range r {
		if one.First > one.Last || one.First < within.First || one.Last > within.Last ||
			i > 0 && (r[i-1].Last >= one.First || r[i-1].Last+1 == one.First) {
			return false
		}
	}
	return true
}

// mostNamed is the maximum number of ranges that String lists.
const mostNamed = 5

// String lists the seeds, e.g. "51–70 and 301–500".
func (r Ranges) String() string {
	var words []string
	for _, one := range r[:min(len(r), mostNamed)] {
		words = append(words, one.String())
	}
	if n := len(r) - mostNamed; n > 0 {
		words = append(words, text.Count(n, "more range"))
	}
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " and " + words[last]
	}
	return strings.Join(words, "")
}
