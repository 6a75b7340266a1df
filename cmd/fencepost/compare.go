package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/fencepost/artefact"
	"github.com/fencepost-sim/fencepost/reports"
	"github.com/fencepost-sim/fencepost/scenarios/compare"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
)

func newCompare() *cobra.Command {
	var o output
	var measure compare.Options
	var out, html string
	c := &cobra.Command{
		Use:   "compare",
		Short: "Compare all locks under the same work and the same faults",
		Example: `  fencepost compare
  fencepost compare --seeds 1000 --out _runs/compare`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if measure.Runs < 1 {
				return fmt.Errorf("--seeds must be at least 1, not %d", measure.Runs)
			}
			if err := checkWorkers(measure.Workers); err != nil {
				return err
			}
			defer o.close()
			if err := o.open(out, "compare", html, ""); err != nil {
				return err
			}
			ctx, stop := interruptible()
			defer stop()
			measure.Progress = progressOn(c.ErrOrStderr())
			measured, err := compare.Locks(ctx, measure)
			if err != nil {
				return err
			}
			comparison := compared(measured)
			comparison.Files, comparison.Repeat = out, again(measure.Runs, out)
			writeScenarios(o.files, measured)
			if html != "" {
				writePage(o.files, html, func(w io.Writer) error { return reports.CompareHTML(w, comparison) })
			}
			o.tell(compareSuite(comparison))
			if err := printCompared(c.OutOrStdout(), comparison, o.json); err != nil {
				return err
			}
			if comparison.Interrupted {
				return o.exit(expect.NotDecidable)
			}
			return o.exit(expect.AsExpected)
		},
	}
	o.register(c)
	c.Flags().IntVar(&measure.Runs, "seeds", 100, "how many runs to make for each cell")
	c.Flags().IntVar(&measure.Workers, "workers", 0, "how many cells to run at once (default: one a core)")
	c.Flags().StringVar(&html, "html", "", "write a report to `FILE`")
	c.Flags().StringVar(&out, "out", "", "write the scenario behind each cell to `DIR`")
	return c
}

func printCompared(w io.Writer, c *reports.Comparison, asJSON bool) error {
	if !asJSON {
		s := screenOf(w)
		return reports.CompareText(w, c, reports.TextOptions{Width: s.width, Color: s.color})
	}
	text, err := reports.CompareJSON(c)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// again is the command that makes the same comparison.
func again(seeds int, out string) string {
	call := fmt.Sprintf("%s compare --seeds %d", program(), seeds)
	if out != "" {
		call += " --out " + shellWord(out)
	}
	return call
}

// writeScenarios leaves one file for each figure, that run can repeat.
func writeScenarios(to *artefact.Files, c *compare.Comparison) {
	var all []artefact.File
	for i := range c.Locks {
		files := []compare.Written{c.Locks[i].Alone.Scenario, c.Locks[i].Together.Scenario}
		for _, cell := range c.Locks[i].Survival {
			if cell.Absent == "" {
				files = append(files, cell.Scenario)
			}
		}
		for _, f := range files {
			all = append(all, artefact.File{Name: f.Name + ".yaml", Content: []byte(f.Text)})
		}
	}
	to.Keep(all...)
}

// compared turns what was measured into what is shown.
func compared(c *compare.Comparison) *reports.Comparison {
	out := &reports.Comparison{Interrupted: c.Interrupted, Seeds: c.Seeds, Delay: c.Delay, Retry: c.Retry, Clients: c.Clients, Model: c.Model}
	for _, t := range c.Troubles {
		out.Troubles = append(out.Troubles, reports.Trouble(t))
	}
	for i := range c.Locks {
		r := &c.Locks[i]
		l := reports.ComparedLock{Name: r.Name, Title: r.Title, Text: r.Text, ClaimLatency: r.Claim.Latency, ClaimThroughput: r.Claim.Throughput,
			Alone: comparedTiming(&r.Alone), Together: comparedTiming(&r.Together)}
		for _, s := range r.Survival {
			l.Cells = append(l.Cells, reports.ComparedCell{Trouble: s.Trouble, Fencing: s.Fencing, Absent: s.Absent,
				Scenario: s.Scenario.Name, Text: s.Scenario.Text, Data: reports.LawTally(s.Data),
				Sections: reports.LawTally(s.Sections), Leases: reports.LawTally(s.Leases),
				Progress: reports.LawTally(s.Progress)})
		}
		out.Locks = append(out.Locks, l)
	}
	return out
}

func comparedTiming(t *compare.Timing) reports.ComparedTiming {
	return reports.ComparedTiming{Scenario: t.Scenario.Name, Text: t.Scenario.Text, Acquires: t.Acquires, P50: t.P50, P99: t.P99,
		First: t.First, PerSecond: t.PerSecond, Requests: t.Requests}
}

// compareSuite has a case for each cell. A comparison judges nothing, so none of them passes or fails.
func compareSuite(c *reports.Comparison) reports.Suite {
	s := reports.Suite{Name: "compare", Repeat: c.Repeat, Cases: reports.Interrupted("compare", c.Interrupted)}
	for _, l := range c.Locks {
		for _, cell := range l.Cells {
			if cell.Absent == "" {
				s.Cases = append(s.Cases, reports.Case{Group: l.Name, Name: cell.Scenario,
					Message: fmt.Sprintf("compared, not judged: the data is kept in %d of %d runs", cell.Data.Holds, c.Seeds-cell.Data.NotRun)})
			}
		}
	}
	return s
}
