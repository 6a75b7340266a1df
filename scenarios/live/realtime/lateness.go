package realtime

import (
	"math"
	"slices"
	"time"
)

// Lateness is how late the host let events happen, those that had to be waited for.
type Lateness []time.Duration

// Max is the latest of all; 0 if there were none.
func (l Lateness) Max() time.Duration { return l.Quantile(1) }

// Quantile is the lateness that a share q of the events, 0 to 1, did not exceed.
func (l Lateness) Quantile(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(l))[max(int(math.Ceil(q*float64(len(l))))-1, 0)]
}
