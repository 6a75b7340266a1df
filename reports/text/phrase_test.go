package text

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestLargeNumbersHaveTwoDigits checks Large, including numbers that are rounded up to the next power of ten.
func TestLargeNumbersHaveTwoDigits(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 1: "1", 999_499: "999,499", 999_500: "1 million",
		1_249_000: "1.2 million", 99_600_000: "100 million", 1.39e11: "140 billion",
		1.6e12: "1.6 trillion", 9.96e14: "1.0 × 10^15",
		1.2e21: "1.2 × 10^21"} {
		if got := Large(n); got != want {
			t.Errorf("%g is written %q, not %q", n, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(0, "run"), "0 runs"}, {Count(1, "run"), "1 run"}, {Count(1234, "run"), "1234 runs"},
		{CountGrouped(1, "run"), "1 run"}, {CountGrouped(1234567, "run"), "1,234,567 runs"},
		{Grouped(0), "0"}, {Grouped(999), "999"}, {Grouped(1000), "1,000"}, {Grouped(100000), "100,000"},
		{Percentage(0), "0%"}, {Percentage(0.0421), "4.2%"}, {Percentage(0.99), "99%"},
		{Percentage(0.9951), "99.5%"}, {Percentage(1), "100%"},
		{Join(nil, " and "), ""}, {Join([]string{"a"}, " and "), "a"}, {Join([]string{"a", "b"}, " and "), "a and b"},
		{Join([]string{"a", "b", "c"}, " or "), "a, b or c"},
		{Lasting(0), "0 µs"}, {Lasting(999_999), "1000 µs"}, {Lasting(1e6), "1 ms"}, {Lasting(12_400_000), "12 ms"},
		{Lasting(1e9), "1.00 s"}, {Lasting(1_254_000_000), "1.25 s"}, {Lasting(10e9), "10.0 s"},
		{Instant(10_131_400_000), "10.131 s"}, {Instant(history.Never), "never"}, {Instant(-1e6), "-0.001 s"},
		{Clock(0), "0.000"}, {Clock(10_131_600_000), "10.132"}, {Clock(history.Never), "never"},
	} {
		if c.got != c.want {
			t.Errorf("%q, not %q", c.got, c.want)
		}
	}
}
