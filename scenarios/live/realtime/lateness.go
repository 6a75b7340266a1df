package realtime

import (
	"math"
	"slices"
	"time"
)

// Lateness lists how late the host ran events, for the events that had to be waited for.
type Lateness []time.Duration

// Max returns the greatest lateness, or 0 if there were no events.
func (l Lateness) Max() time.Duration { return l.Quantile(1) }

// Quantile returns the lateness that a share q of the events, from 0 to 1, did not exceed.
func (l Lateness) Quantile(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(l))[max(int(math.Ceil(q*float64(len(l))))-1, 0)]
}
