package plot

import "testing"

// inside reports whether a point lies inside a polygon.
func inside(shape []Point, at Point) bool {
	in := false
	for i, a := range shape {
		b := shape[(i+1)%len(shape)]
		if (a.Y > at.Y) != (b.Y > at.Y) && at.X < a.X+(b.X-a.X)*(at.Y-a.Y)/(b.Y-a.Y) {
			in = !in
		}
	}
	return in
}

// square returns a grid with a single square. Each of its sides has a crossing.
func square(ranks ...int) *Grid {
	return &Grid{X: []float64{0, 10}, Y: []float64{0, 10}, Rank: ranks,
		Cross: map[Side]float64{{0, 0}: 3, {1, 1}: 6, {2, 0}: 8, {0, 1}: 2}}
}

// For every combination of ranks at the corners of a square, the colored areas must agree with the crossings on its
// sides. From a corner to the next crossing, a side must have the color for the corner's rank.
func TestAreasFollowTheSidesOfEverySquare(t *testing.T) {
	inks := []Ink{{Name: "0"}, {Name: "1"}, {Name: "2"}}
	tried := 0
	for n := range 81 {
		ranks := []int{n % 3, n / 3 % 3, n / 9 % 3, n / 27}
		g := square(ranks...)
		areas := g.Areas(inks)
		look := func(at Point) (ink Ink) {
			for _, a := range areas {
				if inside(a.Points, at) {
					ink = a.Ink
				}
			}
			return ink
		}
		const near = 0.01 // distance from the side
		for _, s := range []struct {
			from, to int
			side     Side
			at       func(d float64) Point
		}{{0, 1, Side{0, 0}, func(d float64) Point { return Point{d, near} }},
			{1, 3, Side{1, 1}, func(d float64) Point { return Point{10 - near, d} }},
			{2, 3, Side{2, 0}, func(d float64) Point { return Point{d, 10 - near} }},
			{0, 2, Side{0, 1}, func(d float64) Point { return Point{near, d} }}} {
			cross := g.Cross[s.side]
			for d := float64(0.25); d < 10; d += 0.5 {
				want := ranks[s.from]
				if d > cross {
					want = ranks[s.to]
				}
				tried++
				if got := look(s.at(d)); got != inks[want] && (d-cross > 0.3 || cross-d > 0.3) {
					t.Errorf("corners %v: at %v the colour is %q, not %d", ranks, s.at(d), got.Name, want)
				}
			}
		}
		if look(Point{5.1, 5.1}) == (Ink{}) {
			t.Errorf("corners %v: the middle has no colour", ranks)
		}
	}
	if tried != 81*4*20 {
		t.Errorf("%d places tried", tried)
	}
}

// A rank's border begins and ends at crossings, and passes each of its crossings exactly once. A crossing is where the
// rank changes along a side.
func TestBordersPassEveryCrossing(t *testing.T) {
	for n := range 16 {
		ranks := []int{n & 1, n >> 1 & 1, n >> 2 & 1, n >> 3}
		ends := map[Point]int{}
		for _, piece := range square(ranks...).Border(1) {
			ends[piece[0]]++
			ends[piece[1]]++
		}
		want := map[Point]bool{{3, 0}: ranks[0] != ranks[1], {10, 6}: ranks[1] != ranks[3],
			{8, 10}: ranks[2] != ranks[3], {0, 2}: ranks[0] != ranks[2]}
		for at, crossed := range want {
			if (ends[at] == 1) != crossed || ends[at] > 1 {
				t.Errorf("corners %v: %d lines end at %v", ranks, ends[at], at)
			}
			delete(ends, at)
		}
		if len(ends) > 0 {
			t.Errorf("corners %v: lines end at %v", ranks, ends)
		}
	}
}
