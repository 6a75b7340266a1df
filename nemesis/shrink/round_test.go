package shrink

import (
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
)

// Durations are listed from the roundest to the least round.
func TestDurationsFromRoundToRough(t *testing.T) {
	inOrder := []string{"0s", "1s", "2s", "5s", "100ms", "200ms", "500ms", "10s", "20s", "50s", "10ms", "100s",
		"1ms", "1000s",
		"3s", "4s", "6s", "9s", "300ms", "30s", "80ms", "1.5s", "2.5s", "9.5s", "150ms", "15s", "85s", "1.1s", "1.2s",
		"9.9s",
		"120ms", "11s", "12s", "1.25s", "12.5s", "1.24s", "12.4s", "12.345s", "12.346s", "9.87654321s",
		"23h59m59.999999999s"}
	for i, later := range inOrder {
		for _, earlier := range inOrder[:i] {
			a, b := mustDuration(t, earlier), mustDuration(t, later)
			if durationRoughness(a) >= durationRoughness(b) {
				t.Errorf("%s does not come before %s", earlier, later)
			}
			if durationRoughness(-b) != durationRoughness(b) {
				t.Errorf("the sign makes a difference to %s", later)
			}
		}
	}
}

func mustDuration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestRounderNumbersHaveTheFewestDigitsThatARangeAllows assumes that only the numbers in a certain range show the
// failure. It checks that rounder lists a number in that range that has as few significant digits as possible, by
// comparing the result with all numbers in the range.
func TestRounderNumbersHaveTheFewestDigitsThatARangeAllows(t *testing.T) {
	digitsOf := func(n int) int { _, digits, _ := significant(int64(n)); return digits }
	for n := 1; n <= 1200; n++ {
		list := rounder(int64(n), 0, 2)
		for low := max(1, n-40); low <= n; low++ {
			for _, high := range []int{n, n + 1, n + 2, n + 3, n + 7, n + 20, n + 60} {
				fewest := digitsOf(n)
				for m := low; m <= high; m++ {
					fewest = min(fewest, digitsOf(m))
				}
				found := digitsOf(n)
				for _, m := range list {
					if int64(low) <= m && m <= int64(high) {
						found = min(found, digitsOf(int(m)))
					}
				}
				if found != fewest {
					t.Fatalf("%d in %d to %d: a number of %d digits is there, the roundest listed has %d: %v",
						n, low, high, fewest, found, list)
				}
			}
		}
	}
}

func TestDifferentNumbersHaveDifferentRoughness(t *testing.T) {
	seen := map[int64]int64{}
	for n := int64(0); n <= 20_000; n++ {
		r := roughness(n, second)
		if other, taken := seen[r]; taken || r < 0 {
			t.Fatalf("%d and %d are of the same roughness %d", n, other, r)
		}
		seen[r] = n
	}
	if r := roughness(int64(nemesis.MaxDuration)-1, 0); r < 0 {
		t.Errorf("the roughness of the longest duration is %d", r)
	}
}

func TestSmallerCountsLeadDownToOne(t *testing.T) {
	for _, n := range []int{1, 2, 3, 12, 13, 14, 100, nemesis.MaxNumber} {
		list := smaller(n)
		if len(list) > 60 || slices.ContainsFunc(list, func(m int) bool { return m < 1 || m >= n }) {
			t.Errorf("smaller than %d: %v", n, list)
		}
		if n > 1 && (!slices.Contains(list, 1) || !slices.Contains(list, n-1)) {
			t.Errorf("smaller than %d lacks 1 or %d: %v", n, n-1, list)
		}
	}
}
