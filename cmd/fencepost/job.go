package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/cmd/fencepost/artefact"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
	"github.com/fencepost-sim/fencepost/scenarios/rerun"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/tally"
)

// job is one call of run or replay, or of merge for what run has left.
type job struct {
	command  string // by which it was called: run, replay or merge
	scenario *scenarios.Scenario
	flags
	first    uint64 // seed
	seeds    int
	shard    search.Shard
	workers  int
	faults   []nemesis.Fault
	replayed bool // the faults come from a plan file, not from the scenario
	screen   screen
	stdout   io.Writer
	stderr   io.Writer
	runner   *scenarios.Runner
}

func (j *job) plan(seed uint64) nemesis.Plan {
	return nemesis.Plan{Scenario: j.scenario.Name, Seed: seed, Faults: j.faults}
}

// run makes sure that everything can be written, then runs, writes and tells.
func (j *job) run() error {
	if j.out == "" {
		j.out = folderOfRuns(j.scenario, j.faults, j.replayed, j.first, j.seeds)
		if j.shard != search.Whole {
			j.out += fmt.Sprintf("-shard-%d-of-%d", j.shard.Index, j.shard.Of)
		}
	}
	defer j.close()
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
	report, judgement, err := j.report(j.first)
	if err != nil {
		return err
	}
	j.write(report)
	if j.metrics != "" {
		j.files.Write(j.metrics, artefact.Metrics, reports.OpenMetrics(report))
	}
	if j.html != "" {
		j.writeHTML(report, j.html)
	}
	j.tell(runSuite(report))
	if j.json {
		err = j.print(reports.JSON(j.command, report))
	} else {
		err = reports.Text(j.stdout, report, j.textOptions())
	}
	if err != nil {
		return err
	}
	return j.exit(judgement.Standing())
}

// report runs one seed and says what came of it.
func (j *job) report(seed uint64) (*reports.Run, *expect.Judgement, error) {
	result, err := j.runner.Run(j.plan(seed))
	if err != nil {
		return nil, nil, err
	}
	judgement := j.scenario.Judge(result)
	run, err := j.describe(result, judgement)
	return run, &judgement, err
}

func (j *job) describe(r scenarios.Result, judged expect.Judgement) (*reports.Run, error) {
	run, err := described(j.scenario, r, judged)
	if err != nil {
		return nil, err
	}
	run.Files, run.Repeat = j.folder(r.Plan.Seed), j.repeat(r.Plan.Seed)
	return run, nil
}

// described is what a report says of a run, but for where its files lie and how it is repeated. What the verdict says of
// faults is tried by running again without them.
func described(s *scenarios.Scenario, r scenarios.Result, judged expect.Judgement) (*reports.Run, error) {
	if err := rerun.New(s).Try(r.Plan, r.History, &judged.Verdict); err != nil {
		return nil, err
	}
	run := &reports.Run{
		Scenario: s.Name, Summary: s.Summary, Source: s.Source, Seed: r.Plan.Seed, Digest: digest(r),
		Expected: expectLines(s, judged), OK: judged.Standing() == expect.AsExpected, Undecided: judged.Standing() == expect.NotDecidable,
		Verdict: judged.Verdict, History: r.History, Metrics: judged.Metrics,
		Events: r.Events, Simulated: r.History.Header.End.Duration(),
	}
	for _, f := range tally.PlannedIn(r.Plan.Faults, r.History) {
		run.Plan = append(run.Plan, f.Line)
		idle := ""
		switch {
		case f.Struck == 0:
			idle = "never struck"
		case f.Met == 0:
			idle = "struck when no lock was asked for or held"
		}
		run.Idle = append(run.Idle, idle)
	}
	return run, nil
}

func digest(r scenarios.Result) string { return fmt.Sprintf("%016x", uint64(r.Digest)) }

// expectLines holds each law, and each metric that the scenario names, against its expectation.
func expectLines(s *scenarios.Scenario, j expect.Judgement) []reports.ExpectLine {
	missed := map[string]bool{}
	for _, m := range j.Mismatches {
		missed[m.Name] = true
	}
	var lines []reports.ExpectLine
	for _, law := range checker.Laws {
		f := j.Verdict.Of(law)
		line := reports.ExpectLine{Name: string(law), Expected: "not violated", Got: f.Outcome.String(), OK: !missed[string(law)]}
		if e, named := s.Expect.Laws[law]; named {
			line.Expected = e.String()
		}
		if f.Outcome == checker.Violated {
			line.Got += " by " + f.Cause.String()
		}
		lines = append(lines, line)
	}
	for _, b := range s.Expect.Metrics {
		line := reports.ExpectLine{Name: b.Name, Expected: b.Text, Got: "no value", OK: !missed[b.Name]}
		if m, measured := j.Metrics.Of(b.Name); measured {
			line.Got = reports.Value(m)
		}
		lines = append(lines, line)
	}
	return lines
}

// repeat is a command that shows the run again, in the way in which this one was called.
func (j *job) repeat(seed uint64) string {
	if j.replayed {
		return fmt.Sprintf("%s replay %s", program(), shellWord(j.planPath(seed)))
	}
	return fmt.Sprintf("%s run %s --seed %d", program(), shellWord(nameOf(j.scenario)), seed)
}

// program is how this program was called. go run takes it from the build cache.
func program() string {
	cache := os.Getenv("GOCACHE")
	if strings.Contains(os.Args[0], "go-build") || cache != "" && strings.HasPrefix(os.Args[0], cache) {
		return "go run ./cmd/fencepost"
	}
	return "fencepost"
}

// nameOf is the word under which a command finds the scenario.
func nameOf(s *scenarios.Scenario) string {
	if s.Path != "" {
		return s.Path
	}
	return s.Name
}

// shellWord quotes a word for a shell if it needs to be.
func shellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == "" && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (j *job) textOptions() reports.TextOptions {
	return reports.TextOptions{Width: j.screen.width, Color: j.screen.color}
}

func (j *job) print(text []byte, err error) error {
	if err != nil {
		return err
	}
	_, err = j.stdout.Write(text)
	return err
}

func exitFor(s expect.Standing) error {
	switch s {
	case expect.AsExpected:
		return nil
	case expect.Otherwise:
		return outcome(exitOtherwise)
	default:
		return outcome(exitUndecided)
	}
}

// runMany runs all seeds and shows the first run of each way in which they came out otherwise, or else the first that is
// undecided.
func (j *job) runMany() error {
	runs, err := search.NewRuns(j.scenario, j.faults, j.first, j.seeds, j.shard)
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	progress := progressOn(j.stderr)
	err = runs.Run(ctx, j.scenario, j.workers, func() { progress("runs", runs.Done, runs.Size()) })
	if j.files.Fail(err); err != nil && runs.Done == 0 {
		return err
	}
	return j.conclude(runs) // also if a run failed: what the others came to is told, and the failure at the end
}

// conclude writes and tells what came of many runs, all of them or those before an interruption.
func (j *job) conclude(runs *search.Runs) error {
	many, err := j.summary(runs)
	if err != nil {
		return err
	}
	j.writeMany(many, runs)
	j.tell(manySuite(many))
	if j.json {
		err = j.print(reports.JSONMany(j.command, many))
	} else {
		err = reports.TextMany(j.stdout, many, j.textOptions())
	}
	if err != nil {
		return err
	}
	return j.exit(runs.Standing())
}

// summary runs again what is worth showing: a history lives only until the next run.
func (j *job) summary(runs *search.Runs) (*reports.Many, error) {
	s, c := j.scenario, &runs.Campaign
	many := &reports.Many{Scenario: s.Name, Summary: s.Summary, Seeds: c.Seeds, From: j.first, Expected: c.AsExpected,
		Unexpected: c.Otherwise, Undecided: c.Undecided + runs.Size() - runs.Done, Digests: c.Digests(),
		Interrupted: !runs.Finished(), Repeat: fmt.Sprintf("%s --seeds %d", j.repeat(j.first), j.seeds)}
	for _, t := range runs.Laws {
		many.Laws = append(many.Laws, exploredLaw(s, t))
	}
	for _, f := range runs.Plan {
		many.Faults = append(many.Faults, reports.PlannedFault(f))
	}
	if j.shard != search.Whole {
		many.Shard = j.shard.String()
		many.Repeat += " --shard " + many.Shard
	}
	var seeds []uint64
	if len(c.Groups) == 0 && c.Undecided > 0 {
		seeds = append(seeds, c.FirstUndecided)
	}
	shown := map[uint64]bool{}
	for _, g := range c.Groups {
		many.Groups = append(many.Groups, reports.Group{Name: g.Name, Expected: g.Want, Got: g.Got, Runs: g.Runs, First: g.First})
		if !shown[g.First] {
			shown[g.First] = true
			seeds = append(seeds, g.First)
		}
	}
	for _, seed := range seeds {
		j.runner = scenarios.NewRunner(s) // the one before keeps the history that is shown
		run, _, err := j.report(seed)
		if err != nil {
			return nil, err
		}
		many.Runs = append(many.Runs, run)
	}
	if len(seeds) == 0 && j.html != "" && runs.Done > 0 {
		j.runner = scenarios.NewRunner(s)
		sample, _, err := j.report(runs.Seed(0))
		if err != nil {
			return nil, err
		}
		many.Sample = sample
	}
	return many, nil
}
