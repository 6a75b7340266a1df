package checker

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// NearestRank agrees with a simple search that counts, for each observation, how many observations do not exceed it.
func TestNearestRankIsTheLeastThatEnoughDoNotExceed(t *testing.T) {
	for n := range 6 {
		for code := range 1 << (2 * n) { // every list of n times from 0 to 3
			var times []history.Time
			for i := range n {
				times = append(times, history.Time(code>>(2*i)&3))
			}
			for _, p := range []int{1, 50, 99, 100} {
				want := history.Time(0)
				for x := history.Time(3); x >= 0 && n > 0; x-- {
					within, there := 0, false
					for _, y := range times {
						if y <= x {
							within++
						}
						there = there || y == x
					}
					if there && within*100 >= p*n {
						want = x
					}
				}
				if got := NearestRank(times, p); got != want {
					t.Fatalf("%d%% of %v: %v, want %v", p, times, got, want)
				}
			}
		}
	}
}
