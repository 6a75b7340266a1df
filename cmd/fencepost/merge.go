package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

func newMerge() *cobra.Command {
	m := merge{}
	c := &cobra.Command{
		Use:               "merge DIR...",
		ValidArgsFunction: foldersOnly,
		Short:             "Put the shards of an exploration or of many runs together",
		Long: `Reads what explore --shard or run --seeds --shard have left in their folders, and tells it as
if it had never been divided.`,
		Example: `  fencepost explore my-lock.yaml --seeds 100000 --shard 1/2 --out one
  fencepost explore my-lock.yaml --seeds 100000 --shard 2/2 --out two
  fencepost merge one two`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("merge needs the folders of the shards\nsee: %s -h", c.CommandPath())
			}
			m.dirs, m.cmd = args, c
			if _, err := os.Stat(filepath.Join(args[0], runsFile)); err == nil {
				return m.runs()
			}
			return m.explorations()
		},
	}
	m.output.register(c)
	c.Flags().StringVar(&m.html, "html", "", "write a report to `FILE`, and other pages beside it")
	c.Flags().BoolVar(&m.all, "all", false, "tell each finding of explorations in full")
	c.Flags().StringVar(&m.out, "out", "", "write what comes of it to `DIR` (default as if it had not been divided)")
	return c
}

// merge is one call of merge.
type merge struct {
	output
	html string
	out  string
	all  bool
	dirs []string
	cmd  *cobra.Command
}

func (m *merge) explorations() error {
	parts, err := readAll(m.dirs, readRecord)
	if err != nil {
		return err
	}
	whole, err := search.MergeExplorations(parts, m.name)
	if err != nil {
		return err
	}
	s, err := scenarioOf(m.dirs[0], whole.Scenario, whole.Matches)
	if err != nil {
		return err
	}
	x := conclusion{command: "merge", output: m.output, out: m.out, html: m.html, all: m.all, scenario: s, found: whole, screen: screenOf(m.cmd.OutOrStdout()),
		stdout: m.cmd.OutOrStdout(), stderr: m.cmd.ErrOrStderr()}
	if x.out == "" {
		x.out = defaultFolder(whole)
	}
	if err := m.spare(x.out); err != nil {
		return err
	}
	defer x.close()
	if err := x.prepare(); err != nil {
		return err
	}
	if err := x.spare(); err != nil {
		return err
	}
	x.save()
	ctx, stop := interruptible()
	defer stop()
	return x.conclude(ctx)
}

func (m *merge) runs() error {
	if m.all {
		return fmt.Errorf("--all goes with the shards of an exploration; %s holds the runs of many seeds", m.dirs[0])
	}
	parts, err := readAll(m.dirs, readRuns)
	if err != nil {
		return err
	}
	whole, err := search.MergeRuns(parts, m.name)
	if err != nil {
		return err
	}
	s, err := scenarioOf(m.dirs[0], whole.Scenario, whole.Matches)
	if err != nil {
		return err
	}
	faults, err := whole.Faults()
	if err != nil {
		return err
	}
	j := job{command: "merge", scenario: s, flags: flags{output: m.output, out: m.out, html: m.html}, first: whole.From, seeds: whole.Seeds, shard: search.Whole,
		faults: faults, screen: screenOf(m.cmd.OutOrStdout()), stdout: m.cmd.OutOrStdout(), stderr: m.cmd.ErrOrStderr()}
	if j.out == "" {
		j.out = folderOfRuns(s, j.faults, false, j.first, j.seeds)
	}
	if err := m.spare(j.out); err != nil {
		return err
	}
	defer j.close()
	if err := j.prepare(); err != nil {
		return err
	}
	j.runner = scenarios.NewRunner(s)
	return j.conclude(whole)
}

// name is how errors call a shard.
func (m *merge) name(i int) string { return m.dirs[i] }

// spare makes sure that no shard is overwritten by the whole.
func (m *merge) spare(out string) error {
	same := func(dir string) bool { return filepath.Clean(dir) == filepath.Clean(out) }
	if len(m.dirs) > 1 && slices.ContainsFunc(m.dirs, same) {
		return fmt.Errorf("%s is one of the shards; name another folder with --out", out)
	}
	return nil
}

// readAll reads the record of each folder.
func readAll[R any](dirs []string, read func(string) (R, error)) ([]R, error) {
	var all []R
	for _, dir := range dirs {
		r, err := read(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// readRuns reads the runs in a folder.
func readRuns(dir string) (*search.Runs, error) {
	path := filepath.Join(dir, runsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no runs of many seeds: %w", dir, err)
	}
	if err != nil {
		return nil, err
	}
	r, err := search.DecodeRuns(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return r, nil
}
