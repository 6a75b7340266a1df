package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

func newMerge() *cobra.Command {
	m := merge{}
	c := &cobra.Command{
		Use:               "merge DIR...",
		ValidArgsFunction: foldersOnly,
		Short:             "Merge the parts of an exploration or of many runs",
		Long: `Reads the folders that explore or run --seeds wrote for shards, or for other seeds of one scenario,
and reports them as if the work had never been divided. The report names the seeds between them
that are in no folder; explore --resume runs these. No seed may be in two folders.

Findings are shrunk, and the runs of run --seeds that are worth showing are repeated. If the
clients were programs or a Go test, which are not in the folders, name them as for the shards:
with --client, or with --package and --run. An exploration without findings does not need them.`,
		Example: `  fencepost explore my-lock.yaml --seeds 100000 --shard 1/2 --out one
  fencepost explore my-lock.yaml --seeds 100000 --shard 2/2 --out two
  fencepost merge one two
  fencepost merge one two --client 'python3 worker.py'
  fencepost merge one two --package ./mylock --run TestMyLock`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("merge needs the folders of the shards\nsee: %s -h", c.CommandPath())
			}
			m.dirs = args
			return m.run()
		},
	}
	m.Register(c, "write a report to `FILE`, with other pages in the same folder")
	c.Flags().StringVar(&m.code.Client, "client", "", task.ClientUsage)
	c.Flags().StringVar(&m.code.Package, "package", "", "the `FOLDER` of the Go package whose test --run names")
	c.Flags().StringVar(&m.code.Test, "run", "", task.TestUsage)
	c.Flags().BoolVar(&m.All, "all", false, "print every finding of an exploration in full")
	c.Flags().StringVar(&m.Out, "out", "", "write the merged result to `DIR` (default: the folder of an undivided run)")
	return c
}

// merge is one invocation of the "fencepost merge" command.
type merge struct {
	output.Frame
	dirs  []string
	code  task.StoredCode
	guest *task.Guest // the code of the clients; nil: the scenario's own protocol
}

// run merges the records, which must all be of the same kind as the first.
func (m *merge) run() error {
	file := task.ExplorationFile
	if _, err := os.Stat(filepath.Join(m.dirs[0], task.RunsFile)); err == nil {
		file = task.RunsFile
	}
	if m.All && file == task.RunsFile {
		return fmt.Errorf("--all can be used only with the shards of an exploration, "+
			"but %s holds the runs of many seeds", m.dirs[0])
	}
	var parts []*search.Result
	for _, dir := range m.dirs {
		part, err := task.ReadResult(dir, file)
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	whole, err := search.Merge(parts, func(i int) string { return m.dirs[i] })
	if err != nil {
		return err
	}
	defer func() { m.guest.Close() }()
	var s *scenarios.Scenario
	if s, m.guest, err = m.code.Open(m.dirs[0], whole); err != nil {
		return err
	}
	if file == task.RunsFile {
		return m.runs(whole, s)
	}
	return m.exploration(whole, s)
}

func (m *merge) exploration(whole *search.Result, s *scenarios.Scenario) error {
	if missing := m.guest.Missing(); missing != nil && (len(whole.Findings) > 0 || whole.Within == 0) {
		return missing
	}
	x := task.Exploration{Frame: m.Frame, Scenario: s, Test: m.guest, Found: whole}
	if x.Out == "" {
		x.Out = task.FolderOf(whole)
	}
	if err := m.spare(x.Out); err != nil {
		return err
	}
	defer x.Close()
	if err := x.Prepare(); err != nil {
		return err
	}
	if err := x.Spare(); err != nil {
		return err
	}
	x.Save()
	ctx, stop := output.Interruptible()
	defer stop()
	return x.Conclude(ctx)
}

func (m *merge) runs(whole *search.Result, s *scenarios.Scenario) error {
	faults, err := whole.Given()
	if err != nil {
		return err
	}
	if missing := m.guest.Missing(); missing != nil && whole.Done() > 0 {
		return missing
	}
	j := job{Frame: m.Frame, scenario: s, guest: m.guest, first: whole.From, seeds: whole.Seeds, shard: search.Whole,
		faults: faults, replayed: !isOwn(s, faults)}
	if j.Out == "" {
		j.Out = folderOfRuns(s, j.faults, false, j.first, j.seeds)
	}
	if err := m.spare(j.Out); err != nil {
		return err
	}
	defer j.Close()
	if err := j.prepare(); err != nil {
		return err
	}
	j.runner = scenarios.NewRunner(s)
	return j.conclude(whole, false)
}

// spare returns an error if writing the merged result to the path out would overwrite one of the inputs.
func (m *merge) spare(out string) error {
	there, err := os.Stat(out)
	same := func(dir string) bool {
		shard, problem := os.Stat(dir)
		return err == nil && problem == nil && os.SameFile(shard, there)
	}
	if len(m.dirs) > 1 && slices.ContainsFunc(m.dirs, same) {
		return fmt.Errorf("%s is one of the shards; name another folder with --out", out)
	}
	return nil
}
