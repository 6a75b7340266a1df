package campaign

import (
	"math"
	"testing"
)

// The bound is the rate at which n runs pass with a chance of 5 %: (1 - rate)^n = 0.05.
func TestUpperBound(t *testing.T) {
	if UpperBound(0) != 1 {
		t.Error("something is known of no runs")
	}
	for _, n := range []int{1, 2, 10, 1000, 1_000_000} {
		if got := math.Pow(1-UpperBound(n), float64(n)); math.Abs(got-0.05) > 1e-9 {
			t.Errorf("%d runs pass at the bound with a chance of %g", n, got)
		}
	}
	if got := UpperBound(1000) * 1000; math.Abs(got-3) > 0.01 {
		t.Errorf("the rule of three gives %g", got)
	}
	for n, want := range map[int]int{0: 1, 1: 1, 40: 13, 200: 67, 2000: 668} {
		if got := OneIn(n); got != want {
			t.Errorf("%d runs: one in %d, want %d", n, got, want)
		}
	}
}

func TestALawIsMarkedKeptOnlyIfItHeldInEveryRun(t *testing.T) {
	for code := range 32 {
		c := Counts{Holds: code & 1, Violated: code >> 1 & 1, Undecided: code >> 2 & 1, Unchecked: code >> 3 & 1,
			NotRun: code >> 4}
		want := "?"
		switch {
		case c == Counts{Holds: 1}:
			want = "✓"
		case c == Counts{Violated: 1}:
			want = "✗"
		case c.Violated == 1:
			want = "±"
		}
		if got := c.Sign(); got != want {
			t.Errorf("%+v is marked %s, want %s", c, got, want)
		}
	}
}
