package output

import (
	"testing"
	"time"
)

// TestRate checks that no rate is shown until two things are done and a second has passed. A rate below ten has one
// decimal.
func TestRate(t *testing.T) {
	for _, c := range []struct {
		done int
		in   time.Duration
		want string
	}{
		{1000, 999 * time.Millisecond, ""}, {1, time.Minute, ""}, {2, 4 * time.Second, ", 0.5 a second"},
		{99, 10 * time.Second, ", 9.9 a second"}, {12_345, 10 * time.Second, ", 1234 a second"},
	} {
		if got := rate(c.done, c.in); got != c.want {
			t.Errorf("%d in %v: %q, want %q", c.done, c.in, got, c.want)
		}
	}
}
