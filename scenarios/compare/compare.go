// Package compare measures locks over many runs of generated scenarios. It compares all lock protocols under the same
// workload and the same faults, and it measures the probability that a Redlock loses mutual exclusion.
//
// Goals: a reader who doubts a figure can run the scenario that produced it; the result does not depend on the number
// of workers; the report says which runs are missing because of an interruption, what was not run, and what differs
// between seeds; every figure is shown even on a narrow terminal. Non-goals: saying which lock is best, and the speed
// of real servers.
package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Options determine which locks are measured, and in how many runs.
type Options struct {
	Runs int // number of runs of each scenario, at least 1
	// Crew executes the runs. Its Progress function is called with the number of scenarios or runs done. Locks can use
	// Hands that are workers created by NewWorker. For Odds.Measure, Hands must not be set.
	campaign.Crew
}

func (o *Options) check() error {
	if o.Runs < 1 {
		return fmt.Errorf("a measurement needs at least one run, not %d", o.Runs)
	}
	return nil
}

// These constants define the model behind the timing figures. The generated scenarios contain the same values.
const (
	delay          = "200us..2ms"
	retry          = "50ms..250ms"
	contending     = 8  // number of clients that contend for one lock
	aloneCycles    = 50 // number of cycles of a client without contention
	togetherCycles = 5  // number of cycles of each contending client
)

// model lists the assumptions behind the figures.
var model = []string{
	"Each message takes " + delay + " in each direction. " +
		"A Redis server that fsyncs every second replies before the data is on disk. " +
		"The members of etcd, ZooKeeper and Consul fsync before they acknowledge a write. " +
		"An fsync takes 1 ms. Commands take no time on a server.",
	"All times are round trips multiplied by the stated delay: compare the rows, not the milliseconds. " +
		"One lock can be acquired and released only as fast as its round trips allow. " +
		"The article states ops/s without conditions. Such rates need many locks at once. " +
		"The model does not include the limits of a server under that load.",
	"All clients are careful, and the TTL is 10 s. " +
		"They renew their lock whenever a third of the TTL has passed. " +
		"They check the remaining validity before each read and write. " +
		"They stop when the validity has run out or the lock is lost. " +
		"A client that polls for a lock tries again after " + retry + ". " +
		"Kubernetes' leader renews every second, and a waiting client checks again after 1 to 2.2 s. " +
		"Consul's client renews its session every 5 s.",
}

// Comparison contains the measurements for all lock protocols under the same workload and the same faults.
type Comparison struct {
	Seeds    int      // number of runs for each table cell, with seeds from 1
	Delay    string   // delay of each message, in each direction
	Retry    string   // pause between two attempts at a lock that is polled
	Clients  int      // number of contending clients
	Model    []string // assumptions on which the figures are based, one or two sentences each
	Troubles []Trouble
	Locks    []Lock
	// Interrupted is set if ctx was done before all runs had ended. The first lock that had not been timed by then is
	// omitted, and so are all after it.
	Interrupted bool
}

// Lock is one lock protocol with its servers and its measurements.
type Lock struct {
	Name            string
	Title           string
	Text            string // description, one sentence
	Claim           Claim
	Alone, Together Timing
	Survival        []Survival // first every trouble without fencing, then every trouble with fencing
}

// Claim contains a lock's figures from the youngju.dev table (see STATEMENTS.md). It is empty if the lock is not in
// that table. The table does not say under which conditions the figures were measured.
type Claim struct{ Latency, Throughput string }

var claims = map[string]Claim{
	"redlock":   {"1-5 ms", "10K+ ops/s"},
	"zookeeper": {"5-20 ms", "1-5K ops/s"},
	"etcd":      {"5-15 ms", "2-8K ops/s"},
}

// Survival is the outcome for one lock under one [Trouble], with or without fencing.
type Survival struct {
	Trouble  string
	Fencing  bool
	Absent   string // why nothing was run; if set, the fields below are zero
	Scenario Written
	Laws     campaign.Laws // in the order of checker.Laws
}

// survives reports whether resource-safety held in every run.
func (s *Survival) survives() bool {
	data := s.Laws.Of(checker.ResourceSafety)
	return s.Absent == "" && data.Holds > 0 && data.Violated+data.Unknown() == 0
}

// Written is a scenario's name and the text of its file. If a law had the same outcome for all seeds, the file expects
// that outcome.
type Written struct{ Name, Text string }

// Locks runs all scenarios in the comparison, each with seeds 1 to o.Runs. When ctx is done, it returns what it has
// measured so far. An error means that Fencepost itself failed.
func Locks(ctx context.Context, o Options) (*Comparison, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	rows, all := everything(o.Runs)
	cut := false
	work := campaign.Work[result]{Name: "scenarios", Size: len(all), Spec: o.Runs,
		Fits: func(i int, r result) bool { return all[i].fits(&r, o.Runs) },
		Start: func() func(int) (result, error) {
			return func(i int) (result, error) { return all[i].run(ctx) }
		}}
	done, err := work.Do(ctx, o.Crew, func(i int, r result) error {
		all[i].keep(&r)
		cut = cut || r.Made < o.Runs
		return nil
	})
	if err != nil {
		return nil, err
	}
	c := &Comparison{Seeds: o.Runs, Delay: delay, Retry: retry, Clients: contending, Model: model, Troubles: troubles,
		Interrupted: cut || done < len(all)}
	untimed := slices.IndexFunc(rows, func(l Lock) bool { return l.Alone.values == nil || l.Together.values == nil })
	if untimed < 0 {
		untimed = len(rows)
	}
	c.Locks = rows[:untimed]
	return c, nil
}

// NewWorker returns a comparison worker for Options.Hands. One job runs one scenario with all seeds.
func NewWorker() campaign.Worker {
	return campaign.NewWorker(func(_ string, spec func(any) error) (campaign.Jobs, error) {
		var runs int
		if err := spec(&runs); err != nil {
			return campaign.Jobs{}, err
		}
		_, all := everything(runs)
		return campaign.Jobs{Size: len(all), Do: func(ctx context.Context, i int) (any, error) {
			return all[i].run(ctx)
		}}, nil
	})
}

// everything returns the comparison's rows and the tasks that fill them.
func everything(runs int) (rows []Lock, all []task) {
	rows = make([]Lock, len(contenders))
	for i := range contenders {
		all = append(all, contenders[i].tasks(&rows[i], runs)...)
	}
	return rows, all
}

// Scenarios returns all scenarios in the comparison, without the outcomes that their files expect.
func Scenarios() (all []Written) {
	rows, _ := everything(1)
	for i := range rows {
		all = append(all, rows[i].Scenarios()...)
	}
	return all
}

// Scenarios returns the scenarios that were run for the lock.
func (l *Lock) Scenarios() []Written {
	all := []Written{l.Alone.Scenario, l.Together.Scenario}
	for _, cell := range l.Survival {
		if cell.Absent == "" {
			all = append(all, cell.Scenario)
		}
	}
	return all
}

// task runs one scenario.
type task struct {
	timed bool                                      // whether the result has figures, and not laws
	run   func(ctx context.Context) (result, error) // performs the runs until all are done or ctx is done
	keep  func(*result)                             // stores the result in its row
}

// result is the outcome of running one scenario.
type result struct {
	Made   int           // number of runs performed
	Laws   campaign.Laws // in the order of checker.Laws; nil if the scenario measures times
	Values []float64     // as in Timing
	Expect string        // what the scenario's file should expect, if it measures times
}

// fits reports whether a result from another process could be this task's result.
func (t *task) fits(r *result, runs int) bool {
	same := func(l campaign.Law, law checker.Law) bool { return l.Law == law }
	if t.timed {
		return r.Made == runs && len(r.Values) == len(figures)
	}
	return r.Made == runs && slices.EqualFunc(r.Laws, checker.Laws, same)
}

// tasks returns the scenarios to run for a lock. Each task stores its result in row, which initially says that nothing
// was run.
func (c *Contender) tasks(row *Lock, runs int) []task {
	*row = Lock{Name: c.Name, Title: c.Title, Text: c.Text, Claim: claims[c.Claimed]}
	tasks := []task{c.time(&row.Alone, 1, aloneCycles, runs), c.time(&row.Together, contending, togetherCycles, runs)}
	// the capacity must not change, because the tasks hold pointers to the elements
	row.Survival = make([]Survival, 0, 2*len(troubles))
	for _, fencing := range []bool{false, true} {
		for _, t := range troubles {
			cell := Survival{Trouble: t.Name, Fencing: fencing, Absent: c.absent(t.Name, fencing)}
			row.Survival = append(row.Survival, cell)
			if cell.Absent == "" {
				tasks = append(tasks, c.survive(&row.Survival[len(row.Survival)-1], t, runs))
			}
		}
	}
	return tasks
}

// survive returns the task for one cell of the table. It counts each law's outcomes.
func (c *Contender) survive(cell *Survival, t Trouble, runs int) task {
	scenario := c.survival(t, cell.Fencing)
	keep := func(r *result) {
		laws := r.Laws
		for i := range laws {
			laws[i].NotRun = runs - r.Made
		}
		cell.Laws, cell.Scenario = laws, Written{scenario.Name, scenario.Text + expectation(laws, runs)}
	}
	keep(&result{Laws: campaign.NewLaws(checker.Laws)})
	return task{keep: keep, run: func(ctx context.Context) (r result, err error) {
		r.Laws = campaign.NewLaws(checker.Laws)
		r.Made, err = scenario.run(ctx, runs, func(h *history.History) { r.Laws.Count(checker.Check(h)) })
		return r, err
	}}
}

// expectation returns the outcomes that a scenario file should expect: one for each law that had the same outcome in
// all runs. If an outcome changes later, running the file no longer meets the expectation.
func expectation(laws campaign.Laws, runs int) string {
	var b strings.Builder
	for i := range laws {
		switch runs {
		case laws[i].Holds:
			fmt.Fprintf(&b, "  %s: holds\n", laws[i].Law)
		case laws[i].Violated:
			fmt.Fprintf(&b, "  %s: violated\n", laws[i].Law)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "expect:\n" + b.String()
}

// time returns a task that times clients that do nothing but acquire and release one lock. If ctx is done before all
// runs have ended, the task does not record any figures.
func (c *Contender) time(to *Timing, clients, cycles, runs int) task {
	scenario := c.timing(clients, cycles)
	to.Scenario = scenario
	run := func(ctx context.Context) (r result, err error) {
		var s stopwatch
		if r.Made, err = scenario.run(ctx, runs, s.read); err == nil && r.Made == runs {
			r.Values, r.Expect = s.values(), s.expectation()
		}
		return r, err
	}
	return task{timed: true, run: run, keep: func(r *result) {
		if r.Made == runs {
			*to = Timing{Written{scenario.Name, scenario.Text + r.Expect}, r.Values}
		}
	}}
}

// run runs the scenario with seeds starting at 1, and passes each history to visit. A history is valid only until the
// next run. run returns how many runs ended before ctx was done.
func (w Written) run(ctx context.Context, runs int, visit func(*history.History)) (made int, err error) {
	s, err := scenarios.Parse(w.Name+".yaml", []byte(w.Text))
	if err != nil {
		return 0, err
	}
	r := scenarios.NewRunner(s)
	for made < runs && ctx.Err() == nil {
		result, err := r.Run(s.Plan(uint64(made) + 1))
		if err != nil {
			return made, fmt.Errorf("%s, seed %d: %w", w.Name, made+1, err)
		}
		visit(result.History)
		made++
	}
	return made, nil
}
