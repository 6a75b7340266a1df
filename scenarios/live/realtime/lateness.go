package realtime

import (
	"math"
	"time"
)

// Lateness counts how late the host let events happen.
type Lateness struct {
	counts [lateBuckets]int
	total  int
	max    time.Duration
}

// A bucket is an eighth of a doubling, starting at a microsecond; the last takes all above half an hour.
const (
	lateBuckets = 31 * perDoubling
	perDoubling = 8
)

func (l *Lateness) add(d time.Duration) {
	l.total++
	l.max = max(l.max, d)
	i := 0
	if d > time.Microsecond {
		i = int(perDoubling * math.Log2(float64(d)/float64(time.Microsecond)))
	}
	l.counts[min(i, lateBuckets-1)]++
}

// events is how many events were measured: those that had to be waited for.
func (l *Lateness) events() int { return l.total }

// Max is the latest of all.
func (l *Lateness) Max() time.Duration { return l.max }

// Quantile is the lateness that a share q of the events, 0 to 1, did not exceed, to an eighth of a doubling.
func (l *Lateness) Quantile(q float64) time.Duration {
	need, seen := int(math.Ceil(q*float64(l.total))), 0
	for i, n := range l.counts {
		if seen += n; n > 0 && seen >= need {
			above := math.Exp2(float64(i+1)/perDoubling) * float64(time.Microsecond)
			return min(time.Duration(above), l.max)
		}
	}
	return 0
}
