package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// pageOfRun is the description of --html for commands that write a page about a single run.
const pageOfRun = "write a report to `FILE`, with porcupine's own views in the same folder"

// register registers the flags that "fencepost run" and "fencepost replay" have in common.
func (j *job) register(c *cobra.Command) {
	j.Register(c, pageOfRun+";\nwith many seeds, also pages of individual runs")
	c.Flags().StringVar(&j.Metrics, "metrics", "",
		"write the metrics to `FILE` as OpenMetrics text; with many seeds, the totals")
	c.Flags().StringVar(&j.Out, "out", "", "write plan, history and verdict to `DIR`\n(default _runs/SCENARIO-SEED, "+
		"with many seeds _runs/SCENARIO-SEED-SEEDS)")
}

func newRun() *cobra.Command {
	j := &job{}
	var planFile, shard, test, client string
	c := &cobra.Command{
		Use:               "run SCENARIO|FILE|FOLDER",
		ValidArgsFunction: scenarioOrFile,
		Short:             "Run a scenario, by name or file, and judge what happened",
		Example: `  fencepost run kleppmann-gc-pause
  fencepost run my-lock.yaml --seeds 1000
  fencepost run kleppmann-gc-pause --html report.html`,
		Args: oneArgument("a scenario's name or file"),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			j.scenario, j.guest, err = task.OpenWith(args[0], test, client)
			defer j.guest.Close()
			if err != nil {
				return err
			}
			if j.shard, err = output.Of(shard); err != nil {
				return err
			}
			if planFile != "" {
				plan, err := readPlan(planFile, j.scenario)
				if err != nil {
					return err
				}
				j.faults, j.replayed = plan.Faults, true
				if !c.Flags().Changed("seed") {
					j.first = plan.Seed
				}
			} else {
				j.faults = j.scenario.Faults
			}
			return j.run()
		},
	}
	c.Flags().StringVar(&test, "run", "", task.TestUsage)
	c.Flags().StringVar(&client, "client", "", task.ClientUsage)
	c.Flags().Uint64Var(&j.first, "seed", 1, "seed of the first run")
	output.Count(c, &j.seeds, "seeds", 1, 1, 0, "number of runs, with consecutive seeds")
	output.Workers(c, &j.workers, "how many runs to execute at once")
	c.Flags().StringVar(&shard, "shard", "", output.Usage)
	c.Flags().StringVar(&planFile, "plan", "", "take faults and seed from a plan `FILE` instead of the scenario")
	j.register(c)
	return c
}

func newReplay() *cobra.Command {
	j := &job{seeds: 1, shard: search.Whole, replayed: true}
	var client string
	c := &cobra.Command{
		Use:     "replay PLAN",
		Short:   "Repeat the run that a plan file describes",
		Example: "  fencepost replay _runs/kleppmann-gc-pause-1/plan.txt",
		Args:    oneArgument("a plan file"),
		RunE: func(_ *cobra.Command, args []string) error {
			plan, err := parsePlan(args[0])
			if err != nil {
				return err
			}
			s, err := task.OpenFrom(filepath.Dir(args[0]), plan.Scenario)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if err := checkPlan(args[0], plan, s); err != nil {
				return err
			}
			if client != "" {
				defer func() { j.guest.Close() }()
				if s, j.guest, err = task.With(s, client); err != nil {
					return err
				}
			}
			j.scenario, j.first, j.faults = s, plan.Seed, plan.Faults
			return j.run()
		},
	}
	c.Flags().StringVar(&client, "client", "", task.ClientUsage)
	j.register(c)
	return c
}

// oneArgument requires exactly one argument, which error messages describe as what.
func oneArgument(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s needs %s\nsee: %s -h", c.Name(), what, c.CommandPath())
		case len(args) > 1:
			return fmt.Errorf("%s takes one argument, %s; %q is too many", c.Name(), what, args[1])
		}
		return nil
	}
}

func readPlan(path string, s *scenarios.Scenario) (nemesis.Plan, error) {
	plan, err := parsePlan(path)
	if err != nil {
		return plan, err
	}
	return plan, checkPlan(path, plan, s)
}

func parsePlan(path string) (nemesis.Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nemesis.Plan{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, nemesis.MaxPlan+1)) // with one byte too many, ParsePlan reports the size
	if err != nil {
		return nemesis.Plan{}, err
	}
	return nemesis.ParsePlan(path, text)
}

// checkPlan returns an error if the plan does not fit the scenario. For example, it may name unknown processes.
func checkPlan(path string, plan nemesis.Plan, s *scenarios.Scenario) error {
	if err := plan.Validate(s.Targets()); err != nil {
		return fmt.Errorf("%s does not fit the scenario %s: %w", path, s.Name, err)
	}
	return nil
}
