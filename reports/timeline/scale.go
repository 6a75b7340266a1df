package timeline

import (
	"math"
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// scale maps true time to positions between 0 and 1. It can show a 15 s pause and 2 ms exchanges side by side. It is
// linear between two neighboring instants. The distance between their positions grows with the logarithm of the time
// between them, up to a limit. The scale is strictly increasing from its first knot to its last.
type scale struct {
	knots []knot
	// breaks lists the time spans that are compressed much more than the rest. The picture must show how long they are.
	breaks []window
}

type knot struct {
	at    history.Time
	place float64
}

const (
	longestStretch = 5.0                // log2 of a gap's length in units of the usual gap
	shortestUnit   = history.Time(1e5)  // 100 µs
	leastStretch   = 0.35               // for two instants that nearly coincide
	breakRatio     = 24                 // a gap of at least this many units is marked as a break
	leastBreak     = history.Time(20e6) // 20 ms
)

// newScale returns a scale with knots at the given instants, which may be in any order. The scale is linear between
// knots.
func newScale(times []history.Time) *scale {
	times = slices.Clone(times)
	slices.Sort(times)
	times = slices.Compact(times)
	if len(times) == 0 {
		times = []history.Time{0}
	}
	if len(times) == 1 {
		times = append(times, times[0]+1)
	}
	unit := usualGap(times)
	s := &scale{knots: make([]knot, len(times))}
	total := 0.0
	for i, at := range times {
		if i > 0 {
			gap := at - times[i-1]
			total += min(max(math.Log2(1+float64(gap)/float64(unit)), leastStretch), longestStretch)
			if gap >= max(breakRatio*unit, leastBreak) {
				s.breaks = append(s.breaks, window{times[i-1], at})
			}
		}
		s.knots[i] = knot{at, total}
	}
	for i := range s.knots {
		s.knots[i].place /= total
	}
	return s
}

// linearScale returns the true scale, on which a second is equally long everywhere.
func linearScale(from, to history.Time) *scale {
	return &scale{knots: []knot{{from, 0}, {to, 1}}}
}

// usualGap returns the median distance between neighboring instants, but at least shortestUnit.
func usualGap(times []history.Time) history.Time {
	gaps := make([]history.Time, 0, len(times))
	for i := 1; i < len(times); i++ {
		gaps = append(gaps, times[i]-times[i-1])
	}
	slices.Sort(gaps)
	return max(gaps[len(gaps)/2], shortestUnit)
}

// place returns the position of an instant. If the instant is off the scale, it returns the position of the nearer end.
func (s *scale) place(at history.Time) float64 {
	i := sort.Search(len(s.knots), func(i int) bool { return s.knots[i].at > at })
	switch i {
	case 0:
		return 0
	case len(s.knots):
		return 1
	}
	a, b := s.knots[i-1], s.knots[i]
	return a.place + (b.place-a.place)*float64(at-a.at)/float64(b.at-a.at)
}
