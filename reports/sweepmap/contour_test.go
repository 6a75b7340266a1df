package sweepmap

import (
	"testing"

	"github.com/fencepost-sim/fencepost/reports/paper"
)

// inside reports whether a place lies in a polygon.
func inside(shape []paper.Point, at paper.Point) bool {
	in := false
	for i, a := range shape {
		b := shape[(i+1)%len(shape)]
		if (a.Y > at.Y) != (b.Y > at.Y) && at.X < a.X+(b.X-a.X)*(at.Y-a.Y)/(b.Y-a.Y) {
			in = !in
		}
	}
	return in
}

// A square of four points is coloured as its sides are: from each corner up to the place at which the side is crossed,
// for every way in which the corners can come out.
func TestRegionsFollowTheSidesOfEverySquare(t *testing.T) {
	cross := map[crossed]float64{{0, 0}: 3, {1, 1}: 6, {2, 0}: 8, {0, 1}: 2}
	tried := 0
	for n := range 81 {
		classes := []int{n % 3, n / 3 % 3, n / 9 % 3, n / 27}
		k := &contour{across: []float64{0, 10}, up: []float64{0, 10}, classes: classes, crossing: cross}
		type painted struct {
			class int
			shape []paper.Point
		}
		var all []painted
		k.regions(func(class int, shape []paper.Point) { all = append(all, painted{class, shape}) },
			func(a, b int) int { return min(a, b) })
		look := func(at paper.Point) int {
			class := -1
			for _, p := range all {
				if inside(p.shape, at) {
					class = p.class
				}
			}
			return class
		}
		const near = 0.01 // of the side
		for side, s := range []struct{ from, to, horizontal int }{{0, 1, 1}, {1, 3, 0}, {2, 3, 1}, {0, 2, 0}} {
			edge := cross[[]crossed{{0, 0}, {1, 1}, {2, 0}, {0, 1}}[side]]
			for d := float64(0.25); d < 10; d += 0.5 {
				at := []paper.Point{{X: d, Y: near}, {X: 10 - near, Y: d}, {X: d, Y: 10 - near}, {X: near, Y: d}}[side]
				want := classes[s.from]
				if d > edge {
					want = classes[s.to]
				}
				tried++
				if got := look(at); got != want && (d-edge > 0.3 || edge-d > 0.3) {
					t.Errorf("corners %v: at %v the colour is that of %d, not %d", classes, at, got, want)
				}
			}
		}
		if look(paper.Point{X: 5.1, Y: 5.1}) < 0 {
			t.Errorf("corners %v: the middle has no colour", classes)
		}
	}
	if tried != 81*4*20 {
		t.Errorf("%d places tried", tried)
	}
}

// The curve around a class begins and ends where the sides are crossed, and passes each crossing of the class once.
func TestCurvesPassEveryCrossing(t *testing.T) {
	for n := range 16 {
		classes := []int{n & 1, n >> 1 & 1, n >> 2 & 1, n >> 3}
		k := &contour{across: []float64{0, 10}, up: []float64{0, 10}, classes: classes,
			crossing: map[crossed]float64{{0, 0}: 3, {1, 1}: 6, {2, 0}: 8, {0, 1}: 2}}
		ends := map[paper.Point]int{}
		k.curve(1, func(a, b paper.Point) { ends[a]++; ends[b]++ })
		want := map[paper.Point]bool{{X: 3, Y: 0}: classes[0] != classes[1], {X: 10, Y: 6}: classes[1] != classes[3],
			{X: 8, Y: 10}: classes[2] != classes[3], {X: 0, Y: 2}: classes[0] != classes[2]}
		for at, crossed := range want {
			if (ends[at] == 1) != crossed || ends[at] > 1 {
				t.Errorf("corners %v: %d lines end at %v", classes, ends[at], at)
			}
			delete(ends, at)
		}
		if len(ends) > 0 {
			t.Errorf("corners %v: lines end at %v", classes, ends)
		}
	}
}
