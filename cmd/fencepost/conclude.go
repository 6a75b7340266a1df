package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// conclusion is what is made of an exploration, be it run here or merged from shards: each finding is cut down, written
// and reported.
type conclusion struct {
	output.Frame
	scenario *scenarios.Scenario
	guest    *goTest // the package whose lock it is; nil: the scenario's own
	found    *search.Exploration
	saved    time.Time
}

func (x *conclusion) register(c *cobra.Command) {
	x.Register(c, ", and one for each finding beside it")
	c.Flags().BoolVar(&x.All, "all", false, "report each finding in full, not only what fits a screen")
	c.Flags().StringVar(&x.Out, "out", "", "keep what is found in `DIR` (default _runs/explore-SCENARIO-…)")
}

// prepare checks that everything can be written.
func (x *conclusion) prepare() error { return x.Open("explore") }

// spare checks that nothing else lies in the folder of the results. The record there, if there is one, has been read.
func (x *conclusion) spare() error {
	if text, err := os.ReadFile(filepath.Join(x.Out, recordFile)); err == nil {
		x.Files.Adopt(recordFile, text)
	}
	return x.Files.Spare(recordFile, search.ScenarioFile, verdictFile)
}

// conclude cuts down, writes and reports what was found. Once ctx is done it cuts no further.
func (x *conclusion) conclude(ctx context.Context) error {
	plans, err := search.NewPlans(x.scenario)
	if err != nil {
		return err
	}
	report := &search.Report{Exploration: x.found, Subject: x.scenario, Within: plans.Within,
		Interrupted: ctx.Err() != nil, Files: x.Out, Repeat: x.repeat()}
	for _, promised := range []bool{true, false} {
		for _, f := range x.found.Findings {
			if x.scenario.Promise.Covers(f.Law, f.Cause) != promised {
				continue
			}
			reduced, err := x.finding(ctx, plans, f)
			if err != nil {
				return err
			}
			report.Findings = append(report.Findings, *reduced)
			report.Interrupted = report.Interrupted || reduced.Small.Ending == campaign.Interrupted
		}
	}
	d := report.Document()
	x.Keep(verdictFile, "explore", d) // merged or not, the folder holds an exploration
	standing, _ := x.found.Standing(x.scenario)
	return x.Emit(d, standing)
}

// repeat is the command that does the same again, or goes on.
func (x *conclusion) repeat() string {
	e := x.found
	if !e.Finished() {
		return fmt.Sprintf("%s explore --resume %s", program(), shellWord(x.Out))
	}
	call := fmt.Sprintf("%s explore %s --seed %d --seeds %d", program(), x.guest.argument(x.scenario), e.From, e.Seeds)
	if e.Shard != search.Whole {
		call += " --shard " + e.Shard.String()
	}
	return call
}

// finding cuts one finding down and writes what is left of it.
func (x *conclusion) finding(ctx context.Context, plans *search.Plans, f campaign.Finding) (*search.ReducedFinding,
	error) {
	small, err := search.Shrink(ctx, x.scenario, plans.Plan(f.First), f.Law, f.Cause, 0)
	if err != nil {
		return nil, fmt.Errorf("%s by %s, seed %d: %w", f.Law, f.Cause, f.First, err)
	}
	result, err := scenarios.NewRunner(small.Scenario).Run(small.Plan)
	if err != nil {
		return nil, err
	}
	run, err := single.Explain(small.Scenario, result, small.Scenario.Judge(result))
	if err != nil {
		return nil, err
	}
	reduced := &search.ReducedFinding{Finding: f, Promised: x.scenario.Promise.Covers(f.Law, f.Cause),
		Small: small, Run: run}
	place := search.Slug(f)
	run.Files = filepath.Join(x.Out, place)
	run.Repeat = x.guest.replay(filepath.Join(run.Files, search.PlanFile))
	files := small.Files(testPackage)
	for _, file := range files {
		reduced.Files = append(reduced.Files, file.Name)
	}
	writeRun(&x.Frame, place, files, run)
	return reduced, nil
}

// testPackage is the package of the tests that are written; whoever takes one over renames it.
const testPackage = "locks"
