package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/compare"
)

func newCompare() *cobra.Command {
	var f output.Frame
	var measure compare.Options
	c := &cobra.Command{
		Use:   "compare",
		Short: "Compare all locks under the same work and the same faults",
		Example: `  fencepost compare
  fencepost compare --seeds 1000 --out _runs/compare`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			defer f.Close()
			if err := f.Open("compare"); err != nil {
				return err
			}
			ctx, stop := output.Interruptible()
			defer stop()
			measure.Progress = f.Progress()
			measured, err := compare.Locks(ctx, measure)
			if err != nil {
				return err
			}
			writeScenarios(f.Files, measured)
			standing := document.Passed
			if measured.Interrupted {
				standing = document.Undecided
			}
			report := &compare.Report{Comparison: measured, Files: f.Out, Repeat: repeatComparison(measure.Runs, f.Out)}
			return f.Emit(report.Document(), standing)
		},
	}
	f.Register(c, "")
	output.Count(c, &measure.Runs, "seeds", 100, 1, 0, "number of runs for each cell")
	output.Workers(c, &measure.Workers, "how many cells to run at once")
	c.Flags().StringVar(&f.Out, "out", "", "write the scenario of each cell to `DIR`")
	return c
}

// repeatComparison returns the command that repeats the comparison.
func repeatComparison(seeds int, out string) string {
	call := fmt.Sprintf("%s compare --seeds %d", output.Program(), seeds)
	if out != "" {
		call += " --out " + output.Word(out)
	}
	return call
}

// writeScenarios writes the scenario behind each figure to a file, so that "fencepost run" can repeat it.
func writeScenarios(to *output.Files, c *compare.Comparison) {
	var all []output.File
	for i := range c.Locks {
		files := []compare.Written{c.Locks[i].Alone.Scenario, c.Locks[i].Together.Scenario}
		for _, cell := range c.Locks[i].Survival {
			if cell.Absent == "" {
				files = append(files, cell.Scenario)
			}
		}
		for _, f := range files {
			all = append(all, output.File{Name: f.Name + ".yaml", Content: []byte(f.Text)})
		}
	}
	to.Keep(all...)
}
