package task

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// Exploration is one invocation of a command that explores. The runs may be executed here or elsewhere, and their
// results may be merged from several records. Each finding is shrunk, written and reported.
type Exploration struct {
	output.Frame
	Scenario *scenarios.Scenario
	Test     *Guest // the code of the clients' lock; nil: the scenario's own protocol
	Found    *search.Result
	// Cut holds the findings that have already been shrunk elsewhere, in the same order as in Found. A finding that is
	// missing or nil in Cut is shrunk here.
	Cut   []*search.Shrunk
	saved time.Time
}

// Register adds an exploration's flags to a command.
func (x *Exploration) Register(c *cobra.Command) {
	x.Frame.Register(c, "write a report to `FILE`, and, in the same folder, one for each finding")
	c.Flags().BoolVar(&x.All, "all", false, "report every finding in full, even those that do not fit on the screen")
	c.Flags().StringVar(&x.Out, "out", "", "write the findings to `DIR` (default _runs/explore-SCENARIO-…)")
}

// Prepare checks that the results can be written, before anything runs.
func (x *Exploration) Prepare() error { return x.Open("explore") }

// Spare checks that the results will not overwrite other files in the folder. If the folder contains a record, call
// Spare after reading it.
func (x *Exploration) Spare() error {
	if text, err := readRecord(filepath.Join(x.Out, ExplorationFile), mostRecord); err == nil {
		x.Files.Adopt(ExplorationFile, text)
	}
	names := []string{ExplorationFile, search.ScenarioFile, VerdictFile, "closest-*.txt"}
	for _, law := range checker.Laws {
		place := string(law) + "-*" // the folders that search.Slug names
		names = append(append(names, FilesOfRun(place)...), place+"/*_test.go")
	}
	return x.Files.Spare(names...)
}

// Conclude shrinks, writes and reports the findings. Once ctx is done, it stops shrinking.
func (x *Exploration) Conclude(ctx context.Context) error {
	var plans *search.Plans
	if len(x.Found.Findings) > 0 || x.Found.Within == 0 { // the scenario is run without faults to prepare them
		var err error
		if plans, err = x.Found.Plans(x.Scenario); err != nil {
			return err
		}
		x.Found.Within = plans.Within
	}
	report := &search.Report{Result: x.Found, Subject: x.Scenario, Interrupted: ctx.Err() != nil,
		Files: x.Out, Repeat: x.repeat(), Replay: x.Test.Replay}
	for _, promised := range []bool{true, false} {
		for i, f := range x.Found.Findings {
			if x.Scenario.Promise.Covers(f.Law, f.Cause) != promised {
				continue
			}
			reduced, err := x.finding(ctx, plans, i)
			if differs := (*search.UnrepeatedError)(nil); errors.As(err, &differs) {
				report.Unrepeated = append(report.Unrepeated, search.UnrepeatedFinding{Finding: f, Why: differs.Why})
				continue
			}
			if err != nil {
				return err
			}
			report.Findings = append(report.Findings, *reduced)
			report.Interrupted = report.Interrupted || reduced.Small.Ending == campaign.Interrupted
		}
	}
	for _, c := range x.Found.Closest.Whole(x.Found.Laws) {
		text, err := x.closest(&c)
		if err != nil {
			return err
		}
		x.Files.Keep(output.File{Name: c.File(), Content: text})
	}
	d := report.Document()
	x.Keep(VerdictFile, "explore", d) // the folder belongs to explore, even if merge wrote it
	standing, _ := x.Found.Standing(x.Scenario)
	return x.Emit(d, standing)
}

// closest returns the contents of the plan file for a close call. If the scenario is not in the catalog, it is the copy
// in the same folder.
func (x *Exploration) closest(c *search.Close) ([]byte, error) {
	plan, err := nemesis.ParsePlan(c.File(), c.Plan)
	if err != nil {
		return nil, err
	}
	if x.Scenario.Path != "" {
		plan.Scenario = "./" + search.ScenarioFile
	}
	if x.Test == nil {
		return []byte(plan.String()), nil
	}
	return []byte(planText(plan, Repetition{Command: x.Test.Replay(filepath.Join(x.Out, c.File()))})), nil
}

// repeat returns the command that repeats the exploration, or that continues it if it is unfinished.
func (x *Exploration) repeat() string {
	e := x.Found
	if !e.Finished() {
		return x.Resume()
	}
	call := fmt.Sprintf("%s explore %s --seed %d --seeds %d", output.Program(), x.Test.Argument(x.Scenario), e.From,
		e.Seeds)
	if e.Shard != search.Whole {
		call += " --shard " + e.Shard.String()
	}
	return call
}

// Resume returns the command that continues the exploration. If the lock's code is not in the folder, it names the
// code.
func (x *Exploration) Resume() string {
	code := ""
	if x.Test != nil {
		code = x.Test.Argument(x.Scenario) + " "
	}
	return fmt.Sprintf("%s explore %s--resume %s", output.Program(), code, text.ShellWord(x.Out))
}

// finding shrinks finding i if that has not been done yet, and writes the result.
func (x *Exploration) finding(ctx context.Context, plans *search.Plans, i int) (*search.ReducedFinding, error) {
	f := x.Found.Findings[i]
	var small *search.Shrunk
	if i < len(x.Cut) {
		small = x.Cut[i]
	}
	if small == nil {
		var err error
		if small, err = search.Shrink(ctx, x.Scenario, x.Found.PlanOf(f, plans), search.Violation{Law: f.Law,
			Cause: f.Cause}, 0); err != nil {
			return nil, fmt.Errorf("%s by %s, seed %d: %w", f.Law, f.Cause, f.First, err)
		}
	}
	run, err := small.Explained()
	if err != nil {
		return nil, err
	}
	reduced := &search.ReducedFinding{Finding: f, Promised: x.Scenario.Promise.Covers(f.Law, f.Cause),
		Small: small, Run: run}
	place := search.Slug(f)
	run.Files = filepath.Join(x.Out, place)
	path := filepath.Join(run.Files, search.PlanFile)
	run.Repeat = x.Test.Replay(path)
	files := small.Files(testPackage, x.Test.Elsewhere(path))
	for _, file := range files {
		reduced.Files = append(reduced.Files, file.Name)
	}
	WriteRun(&x.Frame, place, files, run)
	return reduced, nil
}

// testPackage is the package name in the Go tests that this program writes. Users rename it when they adopt a test.
const testPackage = "locks"
