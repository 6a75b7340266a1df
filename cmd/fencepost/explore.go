package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

func newExplore() *cobra.Command {
	x := explore{}
	var shard string
	c := &cobra.Command{
		Use:               "explore SCENARIO|FILE|FOLDER",
		ValidArgsFunction: scenarioOrFile,
		Short:             "Run a scenario under random faults, and cut down what breaks it",
		Long: `Runs the scenario once for each seed, with faults drawn from its mix in place of its own, and
judges each run. Each distinct violation is reported once, cut down to the smallest plan that
still shows it, with a scenario file and a Go test to keep. The report fits a screen: findings
are grouped by plan, the gravest first; --all reports each in full.

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
			defer func() { x.guest.end() }()
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
	x.register(c)
	c.Flags().StringVar(&x.test, "run", "", runUsage)
	c.Flags().Uint64Var(&x.from, "seed", 1, "the first seed")
	output.Count(c, &x.seeds, "seeds", 1000, 1, 0, "how many runs to make, with one seed after the other")
	output.Workers(c, &x.workers, "how many runs to make at once")
	c.Flags().StringVar(&shard, "shard", "", output.Usage)
	c.Flags().StringVar(&x.resume, "resume", "", "go on with the exploration in `DIR`")
	return c
}

// explore is one call of explore.
type explore struct {
	conclusion
	from    uint64
	seeds   int
	workers int
	shard   search.Shard
	resume  string
	test    string
}

// begin prepares a new exploration.
func (x *explore) begin(name string) error {
	var err error
	if x.scenario, x.guest, err = openTest(name, x.test); err != nil {
		return err
	}
	if x.found, err = search.NewExploration(x.scenario, x.from, x.seeds, x.shard); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if x.Out == "" {
		x.Out = defaultFolder(x.found)
	}
	if err := x.prepare(); err != nil {
		return err
	}
	if err := x.refuse(); err != nil {
		return err
	}
	return x.spare()
}

// refuse refuses to overwrite the results of another exploration, or of one that is not finished.
func (x *explore) refuse() error {
	before, err := readRecord(x.Out)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w; name another folder with --out", err)
	}
	if err := before.Matches(x.scenario); err != nil {
		return fmt.Errorf("%s %w; name another folder with --out", x.Out, err)
	}
	same := before.From == x.found.From && before.Seeds == x.found.Seeds && before.Shard == x.found.Shard
	switch {
	case !same:
		return fmt.Errorf("%s holds other seeds: %d from %d, shard %s; name another folder with --out", x.Out,
			before.Seeds, before.From, before.Shard)
	case !before.Finished():
		return fmt.Errorf("%s holds this exploration, not finished; go on with: %s explore --resume %s", x.Out,
			program(), shellWord(x.Out))
	}
	return nil
}

// proceed prepares to go on where an exploration stopped. Changed reports which flags were given.
func (x *explore) proceed(args []string, changed func(string) bool) error {
	for _, flag := range []string{"seed", "shard", "out"} {
		if changed(flag) {
			return fmt.Errorf("--%s does not go with --resume: what was begun says it", flag)
		}
	}
	if _, err := readRecord(x.resume); err != nil {
		return err
	}
	x.Out = x.resume
	err := x.prepare()
	if err != nil {
		return err
	}
	if x.found, err = readRecord(x.resume); err != nil { // again: another process may have continued it until now
		return err
	}
	if x.test == "" {
		if x.scenario, err = scenarioOf(x.resume, x.found.Scenario, x.found.Matches); err != nil {
			return err
		}
	}
	if len(args) == 1 {
		if x.scenario, x.guest, err = openTest(args[0], x.test); err != nil {
			return err
		}
		if err := x.found.Matches(x.scenario); err != nil {
			return fmt.Errorf("%s %w", x.resume, err)
		}
	}
	if changed("seeds") {
		if x.seeds < x.found.Seeds {
			return fmt.Errorf("--seeds %d is less than the %d that were begun with", x.seeds, x.found.Seeds)
		}
		x.found.Seeds = x.seeds
	}
	return x.spare()
}

// run explores, keeps its findings as it goes, and reports them.
func (x *explore) run() error {
	ctx, stop := output.Interruptible()
	defer stop()
	x.save()
	progress := x.Progress()
	err := x.found.Run(ctx, x.scenario, x.workers, func() {
		progress("runs", x.found.Done(), x.found.Size())
		x.saveNowAndThen()
	})
	x.save()
	if x.Files.Fail(err); err != nil && x.found.Done() == 0 {
		return err
	}
	return x.conclude(ctx) // also if a run failed: earlier findings are reported, and the failure at the end
}
