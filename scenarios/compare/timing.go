package compare

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// figure is one measurement of acquiring and releasing a lock. The table's columns, their explanations, the JSON and
// its schema are all generated from the list of figures.
type figure struct {
	key     string // JSON key, which includes the unit
	decimal bool   // the JSON number may have a fraction
	measure func(*stopwatch) float64

	// The fields below describe the table. A figure without a column appears only in the JSON.
	group    document.Group
	alone    string // heading of the column for a single client; empty if there is none
	together string // heading of the column for several contending clients
	tip      string
	show     func(float64) string
	bars     bool // the page draws bars that compare the locks
}

// figures lists all figures, in the order of the JSON and of the table's columns.
var figures = []figure{
	{key: "acquires", measure: func(s *stopwatch) float64 { return float64(len(s.first) + len(s.later)) }},
	{key: "first_p50_ns", measure: func(s *stopwatch) float64 { return float64(checker.NearestRank(s.first, 50)) },
		group: acquiring, alone: "first", show: milliseconds,
		tip: "the median of first acquires, which also open connections and sessions"},
	{key: "p50_ns", measure: func(s *stopwatch) float64 { return float64(checker.NearestRank(s.later, 50)) },
		group: acquiring, alone: "p50", show: milliseconds, bars: true, tip: "the median of all later acquires"},
	{key: "p99_ns", measure: func(s *stopwatch) float64 { return float64(checker.NearestRank(s.later, 99)) },
		group: acquiring, alone: "p99", show: milliseconds, tip: "the 99th percentile of all later acquires"},
	{key: "cycles_per_second", decimal: true, measure: (*stopwatch).cycles, group: cycling, alone: "by one",
		together: fmt.Sprintf("by %d", contending), show: text.Decimal, bars: true},
	{key: "requests_per_lock", decimal: true, measure: (*stopwatch).requests, alone: "requests", show: text.Decimal,
		tip: "requests that the client sends to the lock servers for each lock, from acquire to release"},
}

// Groups of adjacent columns in the table.
var (
	acquiring = document.Group{Title: "acquire, in ms",
		Tip: "how long one client waits for a lock that nobody else wants"}
	cycling = document.Group{Title: "cycles/s", Tip: "locks acquired and released per second, one after another, " +
		"by one client and by several that contend"}
	article = document.Group{Title: "the article",
		Tip: "the figure in an article on youngju.dev, which does not say how it was measured"}
)

// milliseconds formats a time in nanoseconds as milliseconds.
func milliseconds(ns float64) string { return text.Milliseconds(time.Duration(ns)) }

// Timing contains a scenario's figures, measured in simulated time over all acquires in all runs.
type Timing struct {
	Scenario Written
	values   []float64 // one value for each element of figures; nil if nothing was measured
}

// column is a column of the timing table.
type column struct {
	document.Column
	cell func(*Lock) document.Cell
	bars bool
	size func(*Lock) float64 // length of the bar
}

// columns returns the columns for the measured figures, and those for the figures in youngju.dev's article (see Claim).
func columns() (all []column) {
	for i, f := range figures {
		add := func(title string, of func(*Lock) *Timing) {
			if title != "" {
				value := func(l *Lock) float64 { return of(l).values[i] }
				all = append(all, column{document.Column{Title: title, Tip: f.tip, Group: f.group},
					func(l *Lock) document.Cell { return document.Cell{Words: f.show(value(l))} }, f.bars, value})
			}
		}
		add(f.alone, func(l *Lock) *Timing { return &l.Alone })
		add(f.together, func(l *Lock) *Timing { return &l.Together })
	}
	for _, claim := range []struct {
		title string
		of    func(*Lock) string
	}{{"latency", func(l *Lock) string { return l.Claim.Latency }},
		{"ops/s", func(l *Lock) string { return strings.TrimSuffix(l.Claim.Throughput, " ops/s") }}} {
		all = append(all, column{Column: document.Column{Title: claim.title, Group: article, Words: true},
			cell: func(l *Lock) document.Cell { return document.Cell{Words: cmp.Or(claim.of(l), "–")} }})
	}
	return all
}

// timingTable returns a table with one row per lock.
func (r *Report) timingTable() document.Table {
	t := document.Table{Heading: "lock"}
	for i := range r.Locks {
		t.Rows = append(t.Rows, document.Row{Name: r.Locks[i].Title, Tip: r.Locks[i].Text})
	}
	for _, c := range columns() {
		t.Columns = append(t.Columns, c.Column)
		most := 0.0
		for i := range r.Locks {
			if c.bars {
				most = max(most, c.size(&r.Locks[i]))
			}
		}
		for i := range r.Locks {
			cell := c.cell(&r.Locks[i])
			if most > 0 {
				cell.Bar = int(100 * c.size(&r.Locks[i]) / most)
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, cell)
		}
	}
	return t
}

// stopwatch collects the durations of operations over several runs.
type stopwatch struct {
	first, later []history.Time // durations of each client's first acquire, and of all later ones
	busy         history.Time   // time from the first acquire call to the last release, summed over all runs
	released     int
	messages     int
	median, asks bounds // ranges of two metrics over the runs
}

// bounds are the minimum and maximum values seen.
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

// expectation returns what a scenario file should expect: the observed ranges of single runs' metrics. If the metrics
// change later, a run of the file no longer meets its expectation.
func (s *stopwatch) expectation() string {
	nanos := func(seconds float64) int64 { return int64(math.Round(seconds * 1e9)) }
	count := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	return fmt.Sprintf("expect:\n  mutual-exclusion: holds\n"+
		"  metrics:\n    lock_acquisition_time_p50: %dns..%dns\n    messages_per_acquire: %s..%s\n",
		nanos(s.median.least), nanos(s.median.most), count(s.asks.least), count(s.asks.most))
}

// values computes all figures in order.
func (s *stopwatch) values() (all []float64) {
	for _, f := range figures {
		all = append(all, f.measure(s))
	}
	return all
}

// cycles returns the number of locks that were acquired and released per second.
func (s *stopwatch) cycles() float64 {
	if s.busy == 0 {
		return 0
	}
	return float64(s.released) * 1e9 / float64(s.busy)
}

// requests returns the average number of requests per acquired lock.
func (s *stopwatch) requests() float64 {
	acquires := len(s.first) + len(s.later)
	if acquires == 0 {
		return 0
	}
	return float64(s.messages) / float64(acquires)
}
