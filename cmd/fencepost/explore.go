package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

func newExplore() *cobra.Command {
	x := explore{}
	var shard string
	c := &cobra.Command{
		Use:               "explore SCENARIO|FILE|FOLDER",
		ValidArgsFunction: scenarioOrFile,
		Short:             "Run a scenario under random faults, and shrink those that break it",
		Long: `Runs the scenario once for each seed, with faults drawn from its mix in place of its own, and
judges each run. Each distinct violation is reported once, cut down to the smallest plan that
still shows it, with a scenario file and a Go test to keep. The report fits a screen: findings
are grouped by plan, the gravest first; --all reports every finding in full.

Exit 1 if a law was broken that the scenario promises: one that it lists under "promise", or
by default any that it does not expect to be violated. Ctrl-C stops the search and reports
what it has found; then exit 3 if no promise was broken and seeds are left.`,
		Example: `  fencepost explore kleppmann-gc-pause
  fencepost explore my-lock.yaml --seeds 1000000 --out found
  fencepost explore --resume found
  fencepost explore ./mylock --run TestMyLock`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			defer x.Close()
			defer func() { x.Test.Close() }()
			var err error
			if x.shard, err = output.Of(shard); err != nil {
				return err
			}
			switch {
			case x.resume != "":
				err = x.proceed(args, c.Flags().Changed)
			case len(args) == 0:
				err = fmt.Errorf("explore needs a scenario's name or file, or --resume DIR\nsee: %s -h",
					c.CommandPath())
			default:
				err = x.begin(args[0])
			}
			if err != nil {
				return err
			}
			return x.run()
		},
	}
	x.Register(c)
	c.Flags().StringVar(&x.test, "run", "", task.TestUsage)
	c.Flags().StringVar(&x.client, "client", "", task.ClientUsage)
	c.Flags().Uint64Var(&x.from, "seed", 1, "the first seed")
	output.Count(c, &x.seeds, "seeds", task.Seeds["explore"], 1, 0, "number of runs, with consecutive seeds")
	output.Workers(c, &x.workers, "how many runs to execute at once")
	c.Flags().StringVar(&shard, "shard", "", output.Usage)
	c.Flags().StringVar(&x.resume, "resume", "", "continue the exploration in `DIR`")
	return c
}

// explore is one invocation of the command "fencepost explore".
type explore struct {
	task.Exploration
	from    uint64
	seeds   int
	workers int
	shard   search.Shard
	resume  string
	test    string
	client  string
}

// begin prepares a new exploration.
func (x *explore) begin(name string) error {
	var err error
	if x.Scenario, x.Test, err = task.OpenWith(name, x.test, x.client); err != nil {
		return err
	}
	if x.Found, err = search.NewExploration(x.Scenario, x.from, x.seeds, x.shard); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if x.Out == "" {
		x.Out = task.FolderOf(x.Found)
	}
	if err := x.Prepare(); err != nil {
		return err
	}
	if err := x.refuse(); err != nil {
		return err
	}
	return x.Spare()
}

// refuse returns an error if the output folder contains an exploration with other settings, or an unfinished
// exploration with the same settings.
func (x *explore) refuse() error {
	before, err := task.ReadResult(x.Out, task.ExplorationFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w; name another folder with --out", err)
	}
	if err := before.Matches(x.Scenario); err != nil {
		return fmt.Errorf("%s %w; name another folder with --out", x.Out, err)
	}
	same := before.From == x.Found.From && before.Seeds == x.Found.Seeds && before.Shard == x.Found.Shard
	switch {
	case !same:
		return fmt.Errorf("%s already holds an exploration of other seeds (%d seeds from %d, shard %s); "+
			"name another folder with --out", x.Out,
			before.Seeds, before.From, before.Shard)
	case !before.Finished():
		return fmt.Errorf("%s holds this exploration, which is not finished; continue it with: %s", x.Out, x.Resume())
	}
	return nil
}

// proceed prepares to resume an exploration. changed reports whether the user has set a flag.
func (x *explore) proceed(args []string, changed func(string) bool) error {
	for _, flag := range []string{"seed", "shard", "out"} {
		if changed(flag) {
			return fmt.Errorf("--%s cannot be used with --resume: "+
				"the exploration keeps the value that it began with", flag)
		}
	}
	for _, flag := range []string{"run", "client"} {
		if changed(flag) && len(args) == 0 {
			return fmt.Errorf("--%s needs the name of what was explored: "+
				"write the same SCENARIO, FILE or FOLDER before --resume", flag)
		}
	}
	if _, err := task.ReadResult(x.resume, task.ExplorationFile); err != nil {
		return err
	}
	x.Out = x.resume
	err := x.Prepare()
	if err != nil {
		return err
	}
	// Read the result again, because another process may have continued the exploration in the meantime.
	if x.Found, err = task.ReadResult(x.resume, task.ExplorationFile); err != nil {
		return err
	}
	if clients := x.Found.Identity.Clients; len(args) == 0 && clients != (scenarios.Origin{}) {
		if x.Scenario, x.Test, err = new(task.StoredCode).Open(x.resume, x.Found); err == nil {
			err = fmt.Errorf("%s holds the results of %s, which is not in the folder; continue it with: %s", x.resume,
				clients, x.Resume())
		}
	} else if len(args) == 0 {
		x.Scenario, err = task.ScenarioIn(x.resume, x.Found.Scenario, x.Found.Matches)
	} else if x.Scenario, x.Test, err = task.OpenWith(args[0], x.test, x.client); err == nil {
		if err = x.Found.Matches(x.Scenario); err != nil {
			err = fmt.Errorf("%s %w", x.resume, err)
		}
	}
	if err != nil {
		return err
	}
	if changed("seeds") {
		if x.seeds < x.Found.Seeds {
			return fmt.Errorf("--seeds %d is less than the %d seeds that the exploration began with", x.seeds,
				x.Found.Seeds)
		}
		if x.Found.Shard != search.Whole {
			return fmt.Errorf("--seeds cannot be used with --resume %s: "+
				"shard %s has a fixed share of %d seeds", x.resume,
				x.Found.Shard, x.Found.Seeds)
		}
		x.Found.Seeds = x.seeds
	}
	return x.Spare()
}

// run performs the exploration. It saves findings as it goes along, and reports them at the end.
func (x *explore) run() error {
	ctx, stop := output.Interruptible()
	defer stop()
	x.Save()
	progress := x.Progress()
	err := x.Found.Run(ctx, x.Scenario, x.workers, func() {
		progress("runs", x.Found.Done(), x.Found.Size())
		x.SaveNowAndThen()
	})
	x.Save()
	if x.Files.Fail(err); err != nil && x.Found.Done() == 0 {
		return err
	}
	return x.Conclude(ctx) // Also if a run failed: report the earlier findings, and then the failure.
}
