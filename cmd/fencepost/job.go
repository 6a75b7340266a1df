package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// job is one call of run or replay.
type job struct {
	scenario *scenarios.Scenario
	flags
	first    uint64 // seed
	seeds    int
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
		j.out = fmt.Sprintf("_runs/%s-%d", j.scenario.Name, j.first)
	}
	if err := j.prepare(); err != nil {
		return err
	}
	j.runner = scenarios.NewRunner(j.scenario)
	if j.seeds == 1 {
		return j.runOne()
	}
	return j.runMany()
}

func (j *job) runOne() error {
	report, judgement, err := j.report(j.first)
	if err != nil {
		return err
	}
	if err := j.write(j.out, report); err != nil {
		return err
	}
	if j.json {
		err = j.print(reports.JSON(report))
	} else {
		err = reports.Text(j.stdout, report, j.textOptions())
	}
	if err != nil {
		return err
	}
	return exitFor(judgement.Standing())
}

// report runs one seed and says what came of it.
func (j *job) report(seed uint64) (*reports.Run, *scenarios.Judgement, error) {
	result, err := j.runner.Run(j.plan(seed))
	if err != nil {
		return nil, nil, err
	}
	judgement := j.scenario.Judge(result)
	return j.describe(result, judgement), &judgement, nil
}

func (j *job) describe(r scenarios.Result, judged scenarios.Judgement) *reports.Run {
	s := j.scenario
	run := &reports.Run{
		Scenario: s.Name, Summary: s.Summary, Source: s.Source, Seed: r.Plan.Seed, Digest: digest(r),
		Expected: expectLines(s, judged), OK: judged.Standing() == scenarios.AsExpected, Undecided: judged.Standing() == scenarios.NotDecidable,
		Verdict: judged.Verdict, History: r.History, Metrics: judged.Metrics,
		Events: r.Events, Simulated: r.History.Header.End.Duration(), Files: j.folder(r.Plan.Seed), Repeat: j.repeat(r.Plan.Seed),
	}
	for _, f := range r.Plan.Faults {
		run.Plan = append(run.Plan, f.String())
	}
	return run
}

func digest(r scenarios.Result) string { return fmt.Sprintf("%016x", uint64(r.Digest)) }

// expectLines holds each law, and each metric that the scenario names, against its expectation.
func expectLines(s *scenarios.Scenario, j scenarios.Judgement) []reports.ExpectLine {
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
		return fmt.Sprintf("%s replay %s", calledAs(), shellWord(j.planPath(seed)))
	}
	name := j.scenario.Name
	if j.scenario.Path != "" {
		name = j.scenario.Path
	}
	return fmt.Sprintf("%s run %s --seed %d", calledAs(), shellWord(name), seed)
}

// calledAs is how this program was called.
func calledAs() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/fencepost"
	}
	return "fencepost"
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

func exitFor(s scenarios.Standing) error {
	switch s {
	case scenarios.AsExpected:
		return nil
	case scenarios.Otherwise:
		return outcome(exitOtherwise)
	default:
		return outcome(exitUndecided)
	}
}

// runMany runs one seed after the other and shows the first run of each way in which they came out otherwise, or else
// the first that is undecided.
func (j *job) runMany() error {
	var c scenarios.Campaign
	var undecided []uint64
	progress := j.progress()
	for i := range j.seeds {
		seed := j.first + uint64(i)
		result, err := j.runner.Run(j.plan(seed))
		if err != nil {
			return err
		}
		judged := j.scenario.Judge(result)
		c.Add(result, judged)
		if judged.Standing() == scenarios.NotDecidable && len(undecided) == 0 {
			undecided = append(undecided, seed)
		}
		progress(i + 1)
	}
	many, err := j.summary(&c, undecided)
	if err != nil {
		return err
	}
	if err := j.writeMany(many); err != nil {
		return err
	}
	if j.json {
		err = j.print(reports.JSONMany(many))
	} else {
		err = reports.TextMany(j.stdout, many, j.textOptions())
	}
	if err != nil {
		return err
	}
	return exitFor(c.Standing())
}

// summary runs again what is worth showing: a history lives only until the next run.
func (j *job) summary(c *scenarios.Campaign, undecided []uint64) (*reports.Many, error) {
	s := j.scenario
	many := &reports.Many{Scenario: s.Name, Summary: s.Summary, Seeds: c.Seeds, From: j.first, Expected: c.AsExpected,
		Unexpected: c.Otherwise, Undecided: c.Undecided, Digests: c.Digests(),
		Repeat: fmt.Sprintf("%s --seeds %d", j.repeat(j.first), j.seeds)}
	seeds := undecided
	if len(c.Groups) > 0 {
		seeds = nil
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
	return many, nil
}

// progress returns what to call after each run: on a terminal it tells how far the work is, at most ten times a second.
func (j *job) progress() func(done int) {
	f, ok := j.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func(int) {}
	}
	last := time.Now()
	return func(done int) {
		switch now := time.Now(); {
		case done == j.seeds:
			fmt.Fprint(f, "\r\x1b[K")
		case now.Sub(last) > 100*time.Millisecond:
			last = now
			fmt.Fprintf(f, "\r%d of %d runs", done, j.seeds)
		}
	}
}
