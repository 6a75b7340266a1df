package main

import (
	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
)

// sweepJob is one invocation of "fencepost sweep".
type sweepJob struct {
	task.Sweep
	workers int
}

func newSweep() *cobra.Command {
	j := &sweepJob{}
	c := &cobra.Command{
		Use:               "sweep SCENARIO|FILE --vary KEY=FROM..TO/STEP",
		ValidArgsFunction: scenarioOrFile,
		Short:             "Vary values of a scenario, and find where it begins to break",
		Long: `Runs a scenario at every combination of the values given for one or two settings, says where its laws
hold and where they break, and bisects each edge. If the outcome depends on the seed, it says in how many
runs a law breaks. A setting is given by its path in scenarios/FORMAT.md, or by the end of the path if no
other setting has the same end (lock.ttl, ttl). A value of a fault is given by the fault's number and the
word before it (faults.1.restart, or restart): restart, for, by, at, pass, ppm, number.

Exit 0 if all assertions are met, or there are none; 1 if one failed; 2 for bad input; 3 if one
was undecided, or its condition was true at no point. Ctrl-C stops the sweep and reports what
it has found; then exit 3 if no assertion failed.`,
		Example: `  fencepost sweep delayed-restart --vary restart=0s..12s/500ms
  fencepost sweep delayed-restart --vary restart=1s..25s/1s --vary ttl=2s..20s/2s \
      --assert "lease-exclusion holds when restart >= ttl * 1.01 + 2ms"
  fencepost sweep restart-everysec --vary append-fsync=always,everysec,no`,
		Args: oneArgument("a scenario's name or file"),
		RunE: func(_ *cobra.Command, args []string) error {
			j.Asked.Target = args[0]
			return j.run()
		},
	}
	f := c.Flags()
	j.Asked.Register(c)
	f.Uint64Var(&j.Asked.Seed, "seed", 1, "seed of the first run at each point")
	output.Count(c, &j.Asked.Seeds, "seeds", task.Seeds["sweep"], 1, 0,
		"number of runs at each point, with consecutive seeds")
	output.Workers(c, &j.workers, "how many points to run at a time")
	f.StringVar(&j.Out, "out", "", "write maps, edges and counterexamples to `DIR` (default _runs/sweep-SCENARIO-…)")
	j.Register(c, "")
	return c
}

// run first checks that it can read its input and write its output. It then sweeps, and writes and reports the results.
func (j *sweepJob) run() error {
	s, err := task.Open(j.Asked.Target)
	if err != nil {
		return err
	}
	if err := j.Settle(s); err != nil {
		return err
	}
	defer j.Close()
	if err := j.Prepare(); err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	j.Options.Workers, j.Options.Progress = j.workers, j.Progress()
	swept, err := j.Subject.Sweep(ctx, j.Options)
	if err != nil {
		return err
	}
	return j.Conclude(swept)
}
