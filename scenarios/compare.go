package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

// The model behind the comparison's figures of time. Its scenarios state the same.
const (
	compareDelay   = "200us..2ms"
	compareRetry   = "50ms..250ms"
	compareClients = 8  // that contend
	aloneCycles    = 50 // of the one client
	togetherCycles = 5  // of each that contends
)

// Comparison is the same work and the same faults, over all ways to lock.
type Comparison struct {
	Seeds    int    // runs behind each cell, with seeds 1 …
	Delay    string // of each message, each way
	Retry    string // between two tries of a lock that is polled
	Clients  int    // that contend
	Troubles []Trouble
	Rows     []Compared
}

// Compared is one way to lock.
type Compared struct {
	Name            string
	Title           string
	Claim           Claim
	Alone, Together Timing
	Survival        []Survival // every trouble with fencing off, then on
}

// Claim is what the article's table says (001_1cace0557de8d57e.txt); empty where it has no column.
type Claim struct{ Latency, Throughput string }

var claims = map[string]Claim{
	"redlock":   {"1-5 ms", "10K+ ops/s"},
	"zookeeper": {"5-20 ms", "1-5K ops/s"},
	"etcd":      {"5-15 ms", "2-8K ops/s"},
}

// Timing is measured over all acquires of all runs, in simulated time.
type Timing struct {
	Scenario  Written
	Acquires  int
	P50, P99  time.Duration // of acquires but each client's first
	First     time.Duration // median of each client's first acquire, which opens connections and sessions
	PerSecond float64       // locks acquired and released in a second, from the first asked for to the last released
	Requests  float64       // of clients to lock servers, for each lock acquired
}

// Survival is one cell of what is survived.
type Survival struct {
	Trouble  string
	Fencing  bool
	Absent   string // why nothing was run; then the rest is zero
	Scenario Written
	Data     Tally // resource-safety
	Sections Tally // mutual-exclusion
	Leases   Tally // lease-exclusion
}

// Written is a scenario as a file holds it. Its expectations are what came out, where all seeds agreed.
type Written struct{ Name, Text string }

// Tally counts how one law came out.
type Tally struct{ Holds, Violated, Undecided, Unchecked int }

func (t *Tally) add(o checker.Outcome) {
	switch o {
	case checker.Holds:
		t.Holds++
	case checker.Violated:
		t.Violated++
	case checker.Undecided:
		t.Undecided++
	default:
		t.Unchecked++
	}
}

// Compare runs all scenarios of the comparison with seeds 1 to the given number, which must be at least 1. An error is a
// failure of Fencepost's own.
func Compare(seeds int) (*Comparison, error) {
	if seeds < 1 {
		return nil, fmt.Errorf("a comparison needs at least one seed, not %d", seeds)
	}
	c := &Comparison{Seeds: seeds, Delay: compareDelay, Retry: compareRetry, Clients: compareClients, Troubles: Troubles}
	for i := range contenders {
		row, err := contenders[i].measure(seeds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", contenders[i].name, err)
		}
		c.Rows = append(c.Rows, row)
	}
	return c, nil
}

func (c *contender) measure(seeds int) (row Compared, err error) {
	row = Compared{Name: c.name, Title: c.title, Claim: claims[c.claimed]}
	if row.Alone, err = c.time(1, aloneCycles, seeds); err != nil {
		return row, err
	}
	if row.Together, err = c.time(compareClients, togetherCycles, seeds); err != nil {
		return row, err
	}
	for _, fencing := range []bool{false, true} {
		for _, t := range Troubles {
			cell, err := c.survive(t, fencing, seeds)
			if err != nil {
				return row, err
			}
			row.Survival = append(row.Survival, cell)
		}
	}
	return row, nil
}

// survive runs one cell.
func (c *contender) survive(t Trouble, fencing bool, seeds int) (Survival, error) {
	cell := Survival{Trouble: t.Name, Fencing: fencing, Absent: c.absent(t.Name, fencing)}
	if cell.Absent != "" {
		return cell, nil
	}
	name, text := c.survival(t, fencing)
	laws := make([]Tally, len(checker.Laws))
	err := runEach(name, text, seeds, func(h *history.History) {
		v := checker.Check(h)
		for i, law := range checker.Laws {
			laws[i].add(v.Of(law).Outcome)
		}
	})
	of := func(l checker.Law) Tally { return laws[slices.Index(checker.Laws, l)] }
	cell.Data, cell.Sections, cell.Leases = of(checker.ResourceSafety), of(checker.MutualExclusion), of(checker.LeaseExclusion)
	cell.Scenario = Written{name, text + expectation(laws, seeds)}
	return cell, err
}

// expectation names each law that came out alike in all runs, so that a run of the file tells whether it still does.
func expectation(laws []Tally, seeds int) string {
	var b strings.Builder
	for i, law := range checker.Laws {
		switch seeds {
		case laws[i].Holds:
			fmt.Fprintf(&b, "  %s: holds\n", law)
		case laws[i].Violated:
			fmt.Fprintf(&b, "  %s: violated\n", law)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "expect:\n" + b.String()
}

// time measures clients that do nothing but take and give back one lock.
func (c *contender) time(clients, cycles, seeds int) (Timing, error) {
	name, text := c.timing(clients, cycles)
	var s stopwatch
	err := runEach(name, text, seeds, s.read)
	t := s.timing()
	t.Scenario = Written{name, text}
	return t, err
}

// runEach runs a scenario with seeds 1 … and hands out each history, which lives until the next.
func runEach(name, text string, seeds int, read func(*history.History)) error {
	s, err := Parse(name+".yaml", []byte(text))
	if err != nil {
		return err
	}
	r := NewRunner(s)
	for seed := range seeds {
		result, err := r.Run(s.Plan(uint64(seed) + 1))
		if err != nil {
			return fmt.Errorf("%s, seed %d: %w", name, seed+1, err)
		}
		read(result.History)
	}
	return nil
}

// stopwatch gathers the times of runs.
type stopwatch struct {
	first, later []history.Time // how long acquires took
	busy         history.Time   // from the first call of a run to its last release
	released     int
	messages     int
}

func (s *stopwatch) read(h *history.History) {
	called, seen := map[history.Process]history.Time{}, map[history.Process]bool{}
	begin, end := history.Never, history.Time(0)
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.Process == probe:
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
}

func (s *stopwatch) timing() Timing {
	t := Timing{Acquires: len(s.first) + len(s.later), P50: nearestRank(s.later, 50), P99: nearestRank(s.later, 99),
		First: nearestRank(s.first, 50)}
	if s.busy > 0 {
		t.PerSecond = float64(s.released) * 1e9 / float64(s.busy)
	}
	if t.Acquires > 0 {
		t.Requests = float64(s.messages) / float64(t.Acquires)
	}
	return t
}

// nearestRank is the smallest of the times that at least p of a hundred do not exceed; 0 of none.
func nearestRank(times []history.Time, p int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[(len(times)*p+99)/100-1].Duration()
}
