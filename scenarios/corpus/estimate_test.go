package corpus

import (
	"math"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/sim"
)

// TestTheIntervalCoversTheMean checks an estimate's confidence interval. It must contain the true mean in at least 90%
// of the cases, whether or not some searches reach their limit. It must also be narrow enough to be useful.
func TestTheIntervalCoversTheMean(t *testing.T) {
	const (
		cases, starts = 500, 8
		luck          = 16 // one test in a hundred is below 90% by this many cases by chance
	)
	for i, c := range []struct {
		chance float64
		limit  int
	}{
		{1, 100}, {0.9, 100}, {0.5, 100}, {0.1, 1000}, {0.01, 10_000}, {0.001, 100_000}, {1e-4, 1_000_000},
		{0.01, 100}, {0.01, 50}, {0.001, 1000}, {0.001, 3000}, {0.001, 100},
	} {
		if i%testkit.Size(3, 1, 1) > 0 {
			continue
		}
		random := sim.NewStream(1, "estimates")
		covered, wide := 0, 0.0
		for range cases {
			var e estimate
			for range starts {
				waited := 1.0
				if c.chance < 1 {
					waited = 1 + math.Floor(math.Log1p(-uniform(random))/math.Log1p(-c.chance))
				}
				e.Searches++
				if waited <= float64(c.limit) {
					e.Caught++
				}
				e.Runs += int(min(waited, float64(c.limit)))
			}
			low, high := e.bounds()
			if low*c.chance <= 1 && 1 <= high*c.chance {
				covered++
			}
			wide += math.Min(high/low, 1000)
		}
		if covered < cases*9/10-luck {
			t.Errorf("chance %v, at most %d runs: %d of %d intervals cover the mean", c.chance, c.limit, covered, cases)
		}
		if wide /= cases; c.limit*starts > int(20/c.chance) && wide > 4 {
			t.Errorf("chance %v, at most %d runs: high is %.1f times low", c.chance, c.limit, wide)
		}
	}
}

func uniform(s *sim.Stream) float64 { return float64(s.Uint64()>>11) / (1 << 53) }

// TestTheIntervalOfKnownEstimates checks the interval in extreme cases. If violations are rare, it approaches an
// interval based on the chi-square distribution: twice the number of runs, divided by the 95th and the 5th percentile
// of that distribution with 16 degrees of freedom.
func TestTheIntervalOfKnownEstimates(t *testing.T) {
	for _, c := range []struct {
		e         estimate
		low, high float64
	}{
		{estimate{Searches: 8, Caught: 8, Runs: 8}, 1, 2},
		{estimate{Searches: 1, Caught: 1, Runs: 1}, 1, 20},
		{estimate{Searches: 1, Caught: 0, Runs: 1000}, 334, math.Inf(1)},
		{estimate{}, 1, math.Inf(1)},
		{estimate{Searches: 8, Caught: 8, Runs: 8_000_000}, 608_000, 2_009_700},
	} {
		low, high := c.e.bounds()
		if math.Abs(low/c.low-1) > 1e-3 || high != c.high && math.Abs(high/c.high-1) > 1e-3 {
			t.Errorf("%+v: %v to %v, want %v to %v", c.e, low, high, c.low, c.high)
		}
	}
	lists := [2]estimate{estimated(nil), estimated([]*search.FirstViolation{{Found: true, Runs: 3}, nil, {Runs: 7},
		{Interrupted: true, Runs: 2}})}
	if want := [2]estimate{{}, {Searches: 2, Caught: 1, Runs: 10}}; lists != want {
		t.Errorf("%+v, want %+v", lists, want)
	}
}
