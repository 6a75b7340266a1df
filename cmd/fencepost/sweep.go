package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
)

// sweepFile is the file in the output folder that contains the sweep's result as JSON.
const sweepFile = "sweep.json"

// edgeSeeds is the default number of runs on each side of an edge, the value at which the outcome changes. If none of
// 300 runs breaks a law, then, with 95% confidence, fewer than one run in a hundred breaks it.
const edgeSeeds = 300

// sweepJob is one invocation of the command "fencepost sweep".
type sweepJob struct {
	output.Frame
	set, vary  []string
	assertions []string
	laws       []string
	resolution []string
	seed       uint64
	seeds      int
	edgeSeeds  int
	workers    int
	target     string // the scenario's name or file, as given
	scenario   *scenarios.Scenario
	subject    *sweep.Subject
}

func newSweep() *cobra.Command {
	j := &sweepJob{}
	c := &cobra.Command{
		Use:               "sweep SCENARIO|FILE --vary KEY=FROM..TO/STEP",
		ValidArgsFunction: scenarioOrFile,
		Short:             "Vary values of a scenario, and find where it begins to break",
		Long: `Runs a scenario at every combination of the values given for one or two settings, says where its laws
hold and where they break, and bisects each edge. If the outcome depends on the seed, it says in how many
runs a law breaks. A setting is given by its path in scenarios/FORMAT.md, or by the end of the path if no
other setting has the same end (lock.ttl, ttl). A value of a fault is given by the fault's number and the
word before it (faults.1.restart, or restart): restart, for, by, at, pass, ppm, number.

Exit 0 if all assertions are met, or there are none; 1 if one failed; 2 for bad input; 3 if one
was undecided, or its condition was true at no point. Ctrl-C stops the sweep and reports what
it has found; then exit 3 if no assertion failed.`,
		Example: `  fencepost sweep delayed-restart --vary restart=0s..12s/500ms
  fencepost sweep delayed-restart --vary restart=1s..25s/1s --vary ttl=2s..20s/2s \
      --assert "lease-exclusion holds when restart >= ttl * 1.01 + 2ms"
  fencepost sweep restart-everysec --vary append-fsync=always,everysec,no`,
		Args: oneArgument("a scenario's name or file"),
		RunE: func(_ *cobra.Command, args []string) error {
			j.target = args[0]
			return j.run()
		},
	}
	f := c.Flags()
	f.StringArrayVar(&j.vary, "vary", nil, "vary a setting: `KEY=FROM..TO/STEP` or KEY=A,B,C; "+
		"once or twice.\nKeys joined by commas take the same values")
	f.StringArrayVar(&j.set, "set", nil,
		"set `KEY=VALUE` at all points; faults.1=LINE replaces a fault or adds the next one")
	f.StringArrayVar(&j.assertions, "assert", nil,
		"`CLAIM` as \"LAW holds when CONDITION\" or \"LAW is violated when CONDITION\"")
	f.StringSliceVar(&j.laws, "law", nil,
		"judge this `LAW` (default: those that the scenario promises or names under expect)")
	f.StringSliceVar(&j.resolution, "resolution", nil,
		"stop bisecting an edge when its two sides are this close, such as `10ms` (default 1ms, 1 or 1ppm)")
	f.Uint64Var(&j.seed, "seed", 1, "seed of the first run of each point")
	output.Count(c, &j.seeds, "seeds", 20, 1, 0, "number of runs at each point, with consecutive seeds")
	output.Count(c, &j.edgeSeeds, "edge-seeds", edgeSeeds, 0, 0,
		"minimum number of runs at points next to an edge and where a condition becomes true")
	output.Workers(c, &j.workers, "how many points to run at a time")
	f.StringVar(&j.Out, "out", "", "write maps, edges and counterexamples to `DIR` (default _runs/sweep-SCENARIO-…)")
	j.Register(c, "")
	return c
}

// run first checks that it can read its input and write its output. It then sweeps, and writes and reports the results.
func (j *sweepJob) run() error {
	options, err := j.options()
	if err != nil {
		return err
	}
	defer j.Close()
	if err := j.prepare(); err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	swept, err := j.subject.Sweep(ctx, options)
	if err != nil {
		return err
	}
	report, err := j.report(swept)
	if err != nil {
		return err
	}
	shown := report.Document()
	j.Keep(sweepFile, "sweep", shown)
	for _, law := range swept.Laws {
		picture := report.Map(sweep.LawOf(swept, law))
		j.Draw("sweep-"+string(law)+".svg", picture.SVG)
		j.Draw("sweep-"+string(law)+".png", picture.PNG)
	}
	return j.Emit(shown, swept.Standing())
}

// options converts the flags to options for the sweep.
func (j *sweepJob) options() (o sweep.Options, err error) {
	if j.scenario, err = task.Open(j.target); err != nil {
		return o, err
	}
	if j.subject, err = sweep.NewSubject(j.scenario); err != nil {
		return o, err
	}
	for _, text := range j.set {
		if err := j.subject.Set(text); err != nil {
			return o, fmt.Errorf("--set %q: %w", text, err)
		}
	}
	if len(j.vary) == 0 {
		return o, fmt.Errorf("sweep needs something to vary, such as --vary lock.ttl=1s..10s/1s\nsee: fencepost " +
			"sweep -h")
	}
	for _, text := range j.vary {
		axis, err := j.subject.Axis(text)
		if err != nil {
			return o, fmt.Errorf("--vary %q: %w", text, err)
		}
		o.Axes = append(o.Axes, axis)
	}
	for _, text := range j.assertions {
		a, err := j.subject.Assertion(o.Axes, text)
		if err != nil {
			return o, fmt.Errorf("--assert %q: %w", text, err)
		}
		o.Assertions = append(o.Assertions, a)
	}
	if o.Laws, err = j.subject.Judged(j.laws, o.Assertions); err != nil {
		return o, fmt.Errorf("--law: %w", err)
	}
	for _, text := range j.resolution {
		if err := o.Resolve(text); err != nil {
			return o, fmt.Errorf("--resolution: %w", err)
		}
	}
	o.From, o.Seeds, o.Sure, o.Workers = j.seed, j.seeds, j.edgeSeeds, j.workers
	o.Progress = j.Progress()
	return o, nil
}

// prepare checks, before anything runs, that the results of the sweep can be written.
func (j *sweepJob) prepare() error {
	if j.Out == "" {
		j.Out = task.FolderFor("sweep-"+j.scenario.Name, j.scenario, j.given()...)
	}
	if err := j.Open("sweep"); err != nil {
		return err
	}
	names := append(task.FilesOfRun("assertion-*"), sweepFile)
	for _, law := range checker.Laws {
		picture := "sweep-" + string(law)
		names = append(names, string(law)+"-edge-*.yaml", picture+".svg", picture+".png")
	}
	return j.Files.Spare(names...)
}

// repeat returns the command that repeats the sweep.
func (j *sweepJob) repeat() string {
	return strings.Join(append([]string{output.Program(), "sweep", output.Word(j.target)}, j.given()...), " ")
}

// given returns the flags that describe the sweep, as they were typed.
func (j *sweepJob) given() (call []string) {
	for _, of := range []struct {
		flag   string
		values []string
	}{{"set", j.set}, {"vary", j.vary}, {"assert", j.assertions}, {"law", j.laws}, {"resolution", j.resolution}} {
		for _, v := range of.values {
			call = append(call, "--"+of.flag, output.Word(v))
		}
	}
	if j.seed != 1 {
		call = append(call, fmt.Sprintf("--seed %d", j.seed))
	}
	call = append(call, fmt.Sprintf("--seeds %d", j.seeds))
	if j.edgeSeeds != edgeSeeds {
		call = append(call, fmt.Sprintf("--edge-seeds %d", j.edgeSeeds))
	}
	return call
}
