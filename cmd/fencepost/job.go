package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// job is one invocation of "fencepost run", of "fencepost replay", or of "fencepost merge" with the results of
// "fencepost run".
type job struct {
	output.Frame
	scenario *scenarios.Scenario
	guest    *task.Guest // the code whose lock is tested; nil: the scenario's own protocol is tested
	first    uint64      // the first seed
	seeds    int
	shard    search.Shard
	workers  int
	faults   []nemesis.Fault
	replayed bool // whether the faults are from a plan file and not from the scenario
	runner   *scenarios.Runner
}

func (j *job) plan(seed uint64) nemesis.Plan {
	return nemesis.Plan{Scenario: j.scenario.Name, Seed: seed, Faults: j.faults}
}

// run first checks that the results can be written. It then performs the runs, and writes and reports the results.
func (j *job) run() error {
	if j.Out == "" {
		j.Out = folderOfRuns(j.scenario, j.faults, j.replayed, j.first, j.seeds)
		if j.shard != search.Whole {
			j.Out += fmt.Sprintf("-shard-%d-of-%d", j.shard.Index, j.shard.Of)
		}
	}
	defer j.Close()
	if err := j.prepare(); err != nil {
		return err
	}
	j.runner = scenarios.NewRunner(j.scenario)
	if j.seeds == 1 && j.shard == search.Whole {
		return j.runOne()
	}
	return j.runMany()
}

func (j *job) runOne() error {
	report, judgment, err := j.report(j.first)
	if err != nil {
		return err
	}
	j.write(report)
	return j.Emit(report.Document(), judgment.Standing())
}

// report performs and judges the run with one seed.
func (j *job) report(seed uint64) (*single.Run, *format.Judgment, error) {
	result, err := j.runner.Run(j.plan(seed))
	if err != nil {
		return nil, nil, err
	}
	judgment := j.scenario.Judge(result)
	run, err := j.describe(result, judgment)
	return run, &judgment, err
}

func (j *job) describe(r scenarios.Result, judged format.Judgment) (*single.Run, error) {
	run, err := single.Explain(j.scenario, r, judged)
	if err != nil {
		return nil, err
	}
	run.Files, run.Repeat = j.folder(r.Plan.Seed), j.repeat(r.Plan.Seed)
	return run, nil
}

// repeat returns a command that, with this invocation's options, shows the run again.
func (j *job) repeat(seed uint64) string {
	if j.replayed {
		return j.guest.Replay(j.planPath(seed))
	}
	return fmt.Sprintf("%s run %s --seed %d", output.Program(), j.guest.Argument(j.scenario), seed)
}

// repeatAll returns a command that repeats all runs.
func (j *job) repeatAll() string {
	call := fmt.Sprintf("%s run %s --seed %d --seeds %d", output.Program(), j.guest.Argument(j.scenario), j.first,
		j.seeds)
	if j.replayed {
		call += " --plan " + text.ShellWord(filepath.Join(j.Out, search.PlanFile))
	}
	if j.shard != search.Whole {
		call += " --shard " + j.shard.String()
	}
	return call
}

// runMany performs the runs for all seeds, and shows the most instructive ones.
func (j *job) runMany() error {
	runs, err := search.NewRuns(j.scenario, j.faults, j.first, j.seeds, j.shard)
	if err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	progress := j.Progress()
	err = runs.Run(ctx, j.scenario, j.workers, func() { progress("runs", runs.Done(), runs.Size()) })
	if j.Files.Fail(err); err != nil && runs.Done() == 0 {
		return err
	}
	// Also if a run failed: report the others, and then the failure.
	return j.conclude(runs, ctx.Err() != nil && !runs.Finished())
}

// conclude writes and reports the outcomes of the runs that were performed. interrupted says whether a signal ended
// the work before all runs were performed.
func (j *job) conclude(runs *search.Result, interrupted bool) error {
	many, err := j.summary(runs)
	if err != nil {
		return err
	}
	many.Interrupted = interrupted
	d := many.Document()
	j.writeMany(many, d)
	standing, _ := runs.Standing(j.scenario)
	return j.Emit(d, standing)
}

// summary returns the report on the runs. It repeats the runs that are worth showing, because a runner keeps a run's
// history only until its next run.
func (j *job) summary(runs *search.Result) (*search.RunsReport, error) {
	s := j.scenario
	many := &search.RunsReport{Result: runs, Subject: s, Repeat: j.repeatAll()}
	for _, seed := range runs.Instructive() {
		j.runner = scenarios.NewRunner(s) // keep the history of the previous run, which belongs to its runner
		run, _, err := j.report(seed)
		if err != nil {
			return nil, err
		}
		many.Shown = append(many.Shown, run)
	}
	var failed *scenarios.CodeError
	for seed := range runs.Samples() {
		if len(many.Shown) > 0 || many.Sample != nil {
			break
		}
		j.runner = scenarios.NewRunner(s)
		var err error
		if many.Sample, _, err = j.report(seed); err != nil && !errors.As(err, &failed) {
			return nil, err
		}
	}
	return many, nil
}
