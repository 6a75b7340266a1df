package scenarios

import (
	"context"
	"errors"
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

// compareModel says what the figures rest on.
var compareModel = []string{
	"Each message travels " + compareDelay + ", each way. A Redis that fsyncs each second answers before its disk has it; an " +
		"fsync takes 1 ms, also on the members of etcd and ZooKeeper, which fsync before they agree. Commands take no time on a " +
		"server.",
	"Time here follows from round trips times the stated delay, and from nothing else: compare the rows, not the milliseconds. " +
		"One lock is taken and given back only as fast as its round trips allow; the article's ops/s, for which it states no " +
		"conditions, need many locks at once, and what limits servers then is not modelled.",
	"All clients are careful. They renew their lock every third of its TTL of 10 s, look at the validity before each read and " +
		"write, and stop when it is over or lost. A polled lock is tried again after " + compareRetry + ".",
}

// Comparison is the same work and the same faults, over all ways to lock.
type Comparison struct {
	Seeds    int      // runs behind each cell, with seeds 1 …
	Delay    string   // of each message, each way
	Retry    string   // between two tries of a lock that is polled
	Clients  int      // that contend
	Model    []string // what the figures rest on, a sentence or two each
	Troubles []Trouble
	Rows     []Compared
	// Interrupted is set if the context was done before all runs were made. Locks whose times were not measured are left out.
	Interrupted bool
}

// Compared is one way to lock.
type Compared struct {
	Name            string
	Title           string
	Text            string // what it is, in a sentence
	Claim           Claim
	Alone, Together Timing
	Survival        []Survival // every trouble with fencing off, then on
}

// Claim is what the table of youngju.dev says (STATEMENTS.md); empty where it has no column. It states no conditions.
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
	Progress Tally // deadlock-freedom
}

// Written is a scenario as a file holds it. Its expectations are what came out, where all seeds agreed.
type Written struct{ Name, Text string }

// Tally counts how one law came out.
type Tally struct {
	Holds, Violated, Undecided, Unchecked int
	NotRun                                int // runs that an interruption left out
}

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

// Compare runs all scenarios of the comparison with seeds 1 to the given number, which must be at least 1. When ctx is done it
// tells what it has measured by then. An error is a failure of Fencepost's own.
func Compare(ctx context.Context, seeds int) (*Comparison, error) {
	if seeds < 1 {
		return nil, fmt.Errorf("a comparison needs at least one seed, not %d", seeds)
	}
	c := &Comparison{Seeds: seeds, Delay: compareDelay, Retry: compareRetry, Clients: compareClients, Model: compareModel,
		Troubles: Troubles}
	for i := range contenders {
		row, err := contenders[i].measure(ctx, seeds)
		c.Interrupted = ctx.Err() != nil
		switch {
		case errors.Is(err, errUntimed):
			return c, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", contenders[i].name, err)
		}
		c.Rows = append(c.Rows, row)
	}
	return c, nil
}

// errUntimed reports a lock whose times were not measured because of an interruption.
var errUntimed = errors.New("interrupted before the times were measured")

func (c *contender) measure(ctx context.Context, seeds int) (row Compared, err error) {
	row = Compared{Name: c.name, Title: c.title, Text: c.text, Claim: claims[c.claimed]}
	if row.Alone, err = c.time(ctx, 1, aloneCycles, seeds); err != nil {
		return row, err
	}
	if row.Together, err = c.time(ctx, compareClients, togetherCycles, seeds); err != nil {
		return row, err
	}
	for _, fencing := range []bool{false, true} {
		for _, t := range Troubles {
			cell, err := c.survive(ctx, t, fencing, seeds)
			if err != nil {
				return row, err
			}
			row.Survival = append(row.Survival, cell)
		}
	}
	return row, nil
}

// survive runs one cell.
func (c *contender) survive(ctx context.Context, t Trouble, fencing bool, seeds int) (Survival, error) {
	cell := Survival{Trouble: t.Name, Fencing: fencing, Absent: c.absent(t.Name, fencing)}
	if cell.Absent != "" {
		return cell, nil
	}
	name, text := c.survival(t, fencing)
	laws := make([]Tally, len(checker.Laws))
	made, err := runEach(ctx, name, text, seeds, func(h *history.History) {
		v := checker.Check(h)
		for i, law := range checker.Laws {
			laws[i].add(v.Of(law).Outcome)
		}
	})
	for i := range laws {
		laws[i].NotRun = seeds - made
	}
	of := func(l checker.Law) Tally { return laws[slices.Index(checker.Laws, l)] }
	cell.Data, cell.Progress = of(checker.ResourceSafety), of(checker.DeadlockFreedom)
	cell.Sections, cell.Leases = of(checker.MutualExclusion), of(checker.LeaseExclusion)
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
func (c *contender) time(ctx context.Context, clients, cycles, seeds int) (Timing, error) {
	name, text := c.timing(clients, cycles)
	var s stopwatch
	made, err := runEach(ctx, name, text, seeds, s.read)
	if err != nil {
		return Timing{}, err
	}
	if made < seeds {
		return Timing{}, errUntimed
	}
	t := s.timing()
	t.Scenario = Written{name, text + s.expectation()}
	return t, nil
}

// runEach runs a scenario with seeds 1 … and hands out each history, which lives until the next. It says how many runs it made
// until ctx was done.
func runEach(ctx context.Context, name, text string, seeds int, read func(*history.History)) (made int, err error) {
	s, err := Parse(name+".yaml", []byte(text))
	if err != nil {
		return 0, err
	}
	r := NewRunner(s)
	for seed := range seeds {
		if ctx.Err() != nil {
			return seed, nil
		}
		result, err := r.Run(s.Plan(uint64(seed) + 1))
		if err != nil {
			return seed, fmt.Errorf("%s, seed %d: %w", name, seed+1, err)
		}
		read(result.History)
	}
	return seeds, nil
}
