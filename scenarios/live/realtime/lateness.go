package realtime

import (
	"math"
	"slices"
	"time"
)

// Lateness contains the lateness of each event that the loop had to wait for: how much later than planned the host ran
// it.
type Lateness []time.Duration

// Max returns the largest lateness, or 0 if there were no events.
func (l Lateness) Max() time.Duration { return l.Quantile(1) }

// Quantile returns the lateness that a fraction q of the events did not exceed. q is between 0 and 1.
func (l Lateness) Quantile(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(l))[max(int(math.Ceil(q*float64(len(l))))-1, 0)]
}
