package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/processor"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/scenarios/advise"
)

// adviseJob is one invocation of "fencepost advise".
type adviseJob struct {
	task.Advice
	target string // the scenario's name or file, as given
	client string
}

func newAdvise() *cobra.Command {
	j := &adviseJob{}
	c := &cobra.Command{
		Use:   "advise SCENARIO|FILE",
		Short: "Try changes to a broken lock, and report those that fix it",
		Long: `Tries every single change that the format offers for the scenario's lock, and the best pairs of
changes, against the faults that break it. These are the faults that the scenario lists. If it lists
none, or has a mix, they are those that random plans find. Servers that a change adds suffer the same
faults. A change is a fix if it also survives new faults of the same kinds, and breaks no law that held
before. If it seems to keep every promise, it is confirmed under fifty times as many faults. The report
begins with the cheapest fix, as a scenario file and as a diff: the one that takes the least time to
acquire, then the fewest requests, the fewest servers and the shortest lease. Locks that a crashed holder
keeps forever come last.

All laws count as promised, unless the file lists some under "promise". If the faults of the file break
promises, the fix must restore these; if promises break without any fault, it must restore those. With a
mix, or if nothing else breaks the lock, it must keep all promises.

The search ends when it has used the processor time of --cpu. A quarter of that is reserved to confirm
what was found. The report says what was not tried. With the same seeds, more time only adds to it.

With --client, each client is the program CMD, in virtual time. Then only changes that the program
notices are tried: changes of the servers, of the resource, and of its environment variables. The
program's processor time counts too: start with few --seeds and a larger --cpu.

Exit 0 if nothing is broken or a change keeps every promise; 1 if none does; 2 for bad input; 3 if
Ctrl-C or the end of --cpu came first.`,
		Example: `  fencepost advise kleppmann-gc-pause
  fencepost advise my-lock.yaml --out advised
  fencepost advise my-lock.yaml --client '/usr/bin/python3 worker.py' --seeds 5 --cpu 10m
  patch my-lock.yaml advised/1.diff`,
		Args: oneArgument("a scenario's name or file"),
		RunE: func(c *cobra.Command, args []string) error {
			j.target = args[0]
			j.Limit = output.Given(c.Flags(), "cpu")
			return j.run()
		},
	}
	f := c.Flags()
	f.Uint64Var(&j.Options.From, "seed", 1, "the first seed")
	output.Count(c, &j.Options.Seeds, "seeds", task.Seeds["advise"], 1, task.MostAdviceSeeds,
		"number of random plans used to search for faults, and to test each change before it is confirmed")
	f.DurationVar(&j.Options.Budget, "cpu", time.Minute,
		"end the search after this much processor time, such as 5m; 0 means no limit")
	output.Workers(c, &j.Options.Workers, "how many changes to try at once")
	f.StringVar(&j.client, "client", "", task.ClientUsage)
	f.StringVar(&j.Out, "out", "", "write advice, scenario files and diffs to `DIR` (default _runs/advise-SCENARIO)")
	j.Register(c, "")
	return c
}

// run first checks that it can read its input and write its output. It then tries changes to the scenario, and writes
// and reports the results.
func (j *adviseJob) run() error {
	defer j.Close()
	if j.Options.Budget < 0 {
		return fmt.Errorf("--cpu must be a positive time, such as 5m, or 0 for no limit, not %v", j.Options.Budget)
	}
	j.Options.Spent = processor.WithChildren
	var err error
	if j.Scenario, err = task.Open(j.target); err != nil {
		return err
	}
	if j.client != "" {
		if j.Scenario, j.Guest, err = task.With(j.Scenario, j.client); err != nil {
			return err
		}
		defer j.Guest.Close()
	}
	if err = j.Prepare(); err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	j.Options.Progress = j.Progress()
	a, err := advise.Try(ctx, j.Scenario, j.Options)
	if err != nil {
		return fmt.Errorf("%s: %w", j.target, err)
	}
	return j.Conclude(a)
}
