package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// flags are what run and replay have in common.
type flags struct {
	output
	html    string
	metrics string
	out     string
}

func (f *flags) register(c *cobra.Command) {
	f.output.register(c)
	c.Flags().StringVar(&f.html, "html", "", "write a report to `FILE`, and beside it porcupine's own views;\nwith many seeds also the pages of single runs")
	c.Flags().StringVar(&f.metrics, "metrics", "", "write the metrics to `FILE` as OpenMetrics text; with many seeds the totals")
	c.Flags().StringVar(&f.out, "out", "", "write plan, history and verdict to `DIR`\n(default _runs/SCENARIO-SEED, with many seeds _runs/SCENARIO-SEED-SEEDS)")
}

func newRun() *cobra.Command {
	var f flags
	var seed uint64
	var seeds, workers int
	var planFile, shard string
	c := &cobra.Command{
		Use:               "run SCENARIO|FILE",
		ValidArgsFunction: scenarioOrFile,
		Short:             "Run a scenario, by name or file, and judge what happened",
		Example: `  fencepost run kleppmann-gc-pause
  fencepost run my-lock.yaml --seeds 1000
  fencepost run kleppmann-gc-pause --html report.html`,
		Args: oneArgument("a scenario's name or file"),
		RunE: func(c *cobra.Command, args []string) error {
			if seeds < 1 {
				return fmt.Errorf("--seeds must be at least 1, not %d", seeds)
			}
			if err := checkWorkers(workers); err != nil {
				return err
			}
			s, err := open(args[0])
			if err != nil {
				return err
			}
			share, err := shardOf(shard)
			if err != nil {
				return err
			}
			j := job{command: "run", scenario: s, flags: f, first: seed, seeds: seeds, shard: share, workers: workers, screen: screenOf(c.OutOrStdout()),
				stdout: c.OutOrStdout(), stderr: c.ErrOrStderr()}
			if planFile != "" {
				plan, err := readPlan(planFile, s)
				if err != nil {
					return err
				}
				j.faults, j.replayed = plan.Faults, true
				if !c.Flags().Changed("seed") {
					j.first = plan.Seed
				}
			} else {
				j.faults = s.Faults
			}
			return j.run()
		},
	}
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of the first run")
	c.Flags().IntVar(&seeds, "seeds", 1, "how many runs to make, with one seed after the other")
	c.Flags().IntVar(&workers, "workers", 0, "how many runs to make at once (default: one a core)")
	c.Flags().StringVar(&shard, "shard", "", shardUsage)
	c.Flags().StringVar(&planFile, "plan", "", "faults and seed from a plan `FILE` instead of the scenario's own")
	f.register(c)
	return c
}

func newReplay() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:     "replay PLAN",
		Short:   "Repeat the run that a plan file describes",
		Example: "  fencepost replay _runs/kleppmann-gc-pause-1/plan.txt",
		Args:    oneArgument("a plan file"),
		RunE: func(c *cobra.Command, args []string) error {
			plan, err := parsePlan(args[0])
			if err != nil {
				return err
			}
			s, err := openFrom(filepath.Dir(args[0]), plan.Scenario)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if err := checkPlan(args[0], plan, s); err != nil {
				return err
			}
			j := job{command: "replay", scenario: s, flags: f, first: plan.Seed, seeds: 1, shard: search.Whole, faults: plan.Faults, replayed: true,
				screen: screenOf(c.OutOrStdout()), stdout: c.OutOrStdout(), stderr: c.ErrOrStderr()}
			return j.run()
		},
	}
	f.register(c)
	return c
}

// oneArgument demands exactly one argument and says what it should be.
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

// open finds a scenario by its name in the catalogue or by its file.
func open(name string) (*scenarios.Scenario, error) { return openFrom("", name) }

// openFrom is open with files looked up from a folder.
func openFrom(dir, name string) (*scenarios.Scenario, error) {
	if s, err := scenarios.Named(name); !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	path := name
	if dir != "" && !filepath.IsAbs(name) {
		path = filepath.Join(dir, name)
	}
	s, err := scenarios.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is neither a scenario of the catalogue nor a file%s", name,
			didYouMean(nearest.Word(name, scenarios.Names())))
	}
	return s, err
}

func didYouMean(word string) string {
	if word == "" {
		return "; see: fencepost list"
	}
	return fmt.Sprintf(" (did you mean %q?)", word)
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
	text, err := io.ReadAll(io.LimitReader(f, nemesis.MaxPlan+1)) // one byte more is one too many, and told as such
	if err != nil {
		return nemesis.Plan{}, err
	}
	return nemesis.ParsePlan(path, text)
}

// checkPlan refuses a plan made for other processes than the scenario has.
func checkPlan(path string, plan nemesis.Plan, s *scenarios.Scenario) error {
	if err := plan.Validate(s.Targets()); err != nil {
		return fmt.Errorf("%s does not fit the scenario %s: %w", path, s.Name, err)
	}
	return nil
}
