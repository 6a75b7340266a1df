package compare

import (
	"fmt"
	"math"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

// stopwatch gathers the times of runs.
type stopwatch struct {
	first, later []history.Time // how long acquires took
	busy         history.Time   // from the first call of a run to its last release
	released     int
	messages     int
	median, asks bounds // of each run's own metrics
}

// bounds are the least and the greatest of what was seen.
type bounds struct {
	least, most float64
	seen        bool
}

func (b *bounds) add(m checker.Metric) {
	if !b.seen {
		b.least, b.most = m.Value, m.Value
	}
	b.least, b.most, b.seen = min(b.least, m.Value), max(b.most, m.Value), true
}

func (s *stopwatch) read(h *history.History) {
	called, seen := map[history.Process]history.Time{}, map[history.Process]bool{}
	begin, end := history.Never, history.Time(0)
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.Process == history.Probe:
		case e.F == history.Acquire && e.Type == history.Invoke:
			called[e.Process] = e.Time
			begin = min(begin, e.Time)
		case e.F == history.Acquire && e.Type == history.OK:
			took := e.Time - called[e.Process]
			if seen[e.Process] {
				s.later = append(s.later, took)
			} else {
				seen[e.Process] = true
				s.first = append(s.first, took)
			}
		case e.F == history.Release && e.Type == history.OK:
			s.released++
			end = e.Time
		}
	}
	s.busy += max(0, end-begin)
	s.messages += h.Header.Messages
	metrics := checker.Measure(h)
	if m, ok := metrics.Of("lock_acquisition_time_p50"); ok {
		s.median.add(m)
	}
	if m, ok := metrics.Of("messages_per_acquire"); ok {
		s.asks.add(m)
	}
}

// expectation bounds the metrics of single runs by what was measured, so that a run of the file tells whether it still
// is so.
func (s *stopwatch) expectation() string {
	nanos := func(seconds float64) int64 { return int64(math.Round(seconds * 1e9)) }
	count := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	return fmt.Sprintf("expect:\n  mutual-exclusion: holds\n  metrics:\n    lock_acquisition_time_p50: %dns..%dns\n  "+
		"  messages_per_acquire: %s..%s\n",
		nanos(s.median.least), nanos(s.median.most), count(s.asks.least), count(s.asks.most))
}

func (s *stopwatch) timing() Timing {
	t := Timing{Acquires: len(s.first) + len(s.later), P50: checker.NearestRank(s.later, 50).Duration(),
		P99: checker.NearestRank(s.later, 99).Duration(), First: checker.NearestRank(s.first, 50).Duration()}
	if s.busy > 0 {
		t.PerSecond = float64(s.released) * 1e9 / float64(s.busy)
	}
	if t.Acquires > 0 {
		t.Requests = float64(s.messages) / float64(t.Acquires)
	}
	return t
}
