package main

import (
	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/scenarios/compare"
)

func newCompare() *cobra.Command {
	j := task.Comparison{}
	var measure compare.Options
	c := &cobra.Command{
		Use:   "compare",
		Short: "Compare all locks under the same work and the same faults",
		Example: `  fencepost compare
  fencepost compare --seeds 1000 --out _runs/compare`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			defer j.Close()
			if err := j.Prepare(); err != nil {
				return err
			}
			ctx, stop := output.Interruptible()
			defer stop()
			measure.Runs, measure.Progress = j.Seeds, j.Progress()
			measured, err := compare.Locks(ctx, measure)
			if err != nil {
				return err
			}
			return j.Conclude(measured)
		},
	}
	j.Register(c, "")
	output.Count(c, &j.Seeds, "seeds", task.Seeds["compare"], 1, 0, "number of runs for each cell of the table")
	output.Workers(c, &measure.Workers, "how many cells to run at once")
	c.Flags().StringVar(&j.Out, "out", "", "write the scenario of each cell to `DIR`")
	return c
}
