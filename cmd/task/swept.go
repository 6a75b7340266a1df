package task

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
)

// sweepFile is the file in the output folder that contains the sweep's result as JSON.
const sweepFile = "sweep.json"

// edgeSeeds is the default number of runs on each side of an edge (a value at which the outcome changes). If none of
// 300 runs breaks a law, then, with 95% confidence, fewer than one run in a hundred breaks it.
const edgeSeeds = 300

// SweepAsked says what a sweep varies and judges, in the user's own words.
type SweepAsked struct {
	Target     string   `json:"target"` // the scenario's name or file
	Set        []string `json:"set,omitempty"`
	Vary       []string `json:"vary"`
	Assertions []string `json:"assert,omitempty"`
	Laws       []string `json:"law,omitempty"`
	Resolution []string `json:"resolution,omitempty"`
	Seed       uint64   `json:"seed"`
	Seeds      int      `json:"seeds"`
	EdgeSeeds  int      `json:"edge_seeds"`
}

// Sweep is one invocation of a command that sweeps.
type Sweep struct {
	output.Frame
	Asked    SweepAsked
	Scenario *scenarios.Scenario
	Subject  *sweep.Subject
	Options  sweep.Options
}

// Register adds the flags that say what the sweep varies and judges, except the seeds.
func (a *SweepAsked) Register(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&a.Vary, "vary", nil, "vary a setting: `KEY=FROM..TO/STEP` or KEY=A,B,C; "+
		"use the flag once or twice.\nKeys joined by commas take the same values")
	f.StringArrayVar(&a.Set, "set", nil,
		"set `KEY=VALUE` at all points; faults.1=LINE replaces a fault or adds the next one")
	f.StringArrayVar(&a.Assertions, "assert", nil,
		"`CLAIM` as \"LAW holds when CONDITION\" or \"LAW is violated when CONDITION\"")
	f.StringSliceVar(&a.Laws, "law", nil,
		"check this `LAW` (default: those that the scenario promises or names under expect)")
	f.StringSliceVar(&a.Resolution, "resolution", nil,
		"stop bisecting an edge when its two sides are this close, such as `10ms` (default 1ms, 1 or 1ppm)")
	output.Count(c, &a.EdgeSeeds, "edge-seeds", edgeSeeds, 0, 0,
		"minimum number of runs at points next to an edge and where a condition becomes true")
}

// Settle sets the sweep's scenario, and fills in the sweep's options from the user's flags.
func (j *Sweep) Settle(s *scenarios.Scenario) (err error) {
	o := &j.Options
	j.Scenario = s
	if j.Subject, err = sweep.NewSubject(s); err != nil {
		return err
	}
	for _, text := range j.Asked.Set {
		if err := j.Subject.Set(text); err != nil {
			return fmt.Errorf("--set %q: %w", text, err)
		}
	}
	if len(j.Asked.Vary) == 0 {
		return fmt.Errorf("sweep needs something to vary, such as --vary lock.ttl=1s..10s/1s\n" +
			"see: fencepost sweep -h")
	}
	for _, text := range j.Asked.Vary {
		axis, err := j.Subject.Axis(text)
		if err != nil {
			return fmt.Errorf("--vary %q: %w", text, err)
		}
		o.Axes = append(o.Axes, axis)
	}
	for _, text := range j.Asked.Assertions {
		a, err := j.Subject.Assertion(o.Axes, text)
		if err != nil {
			return fmt.Errorf("--assert %q: %w", text, err)
		}
		o.Assertions = append(o.Assertions, a)
	}
	if o.Laws, err = j.Subject.Judged(j.Asked.Laws, o.Assertions); err != nil {
		return fmt.Errorf("--law: %w", err)
	}
	for _, text := range j.Asked.Resolution {
		if err := o.Resolve(text); err != nil {
			return fmt.Errorf("--resolution: %w", err)
		}
	}
	o.From, o.Seeds, o.Sure = j.Asked.Seed, j.Asked.Seeds, j.Asked.EdgeSeeds
	return nil
}

// Prepare checks that the sweep's results can be written, before anything runs.
func (j *Sweep) Prepare() error {
	if j.Out == "" {
		j.Out = FolderFor("sweep-"+j.Scenario.Name, j.Scenario, j.given()...)
	}
	if err := j.Open("sweep"); err != nil {
		return err
	}
	names := append(FilesOfRun("assertion-*"), sweepFile)
	for _, law := range checker.Laws {
		picture := "sweep-" + string(law)
		names = append(names, string(law)+"-edge-*.yaml", picture+".svg", picture+".png")
	}
	return j.Files.Spare(names...)
}

// Conclude writes and reports the result.
func (j *Sweep) Conclude(swept *sweep.Sweep) error {
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

// report builds the sweep's report. It also writes the scenarios on both sides of each edge (see sweep.Edge), and those
// for which a counterexample was found.
func (j *Sweep) report(s *sweep.Sweep) (*sweep.Report, error) {
	r := &sweep.Report{Sweep: s, Scenario: j.Scenario, Repeats: map[*sweep.Edge]string{},
		Shown: map[int]*single.Run{}, Files: j.Out, Repeat: j.repeat()}
	if len(s.Axes) == 1 {
		for _, law := range s.Laws {
			n := 0
			for _, e := range sweep.LawOf(s, law).Edges {
				if !e.Bounds() {
					continue
				}
				n++
				again, err := j.sides(s, e, n)
				if err != nil {
					return nil, err
				}
				r.Repeats[e] = again
			}
		}
	}
	for i := range s.Asserted {
		if s.Asserted[i].Standing != document.Failed {
			continue
		}
		run, err := j.counterexample(s, &s.Asserted[i], i+1)
		if err != nil {
			return nil, err
		}
		r.Shown[i] = run
	}
	return r, nil
}

// sides writes the scenarios on both sides of a law's n-th edge (see sweep.Edge). It returns a command that shows the
// violation on one of the two sides, or "" if the law is not violated on either side.
func (j *Sweep) sides(s *sweep.Sweep, e *sweep.Edge, n int) (again string, err error) {
	for _, side := range []struct {
		point *sweep.Point
		state sweep.State
	}{{e.Last, e.Before}, {e.First, e.After}} {
		seed := s.From
		causes := sweep.Causes(side.point, e.Law)
		if len(causes) > 0 {
			seed = causes[0].First
		}
		scenario, err := s.Seen(side.point, seed)
		if err != nil {
			return "", err
		}
		name := fmt.Sprintf("%s-edge-%d-%s.yaml", e.Law, n, strings.ReplaceAll(side.state.String(), " ", "_"))
		j.Files.Keep(output.File{Name: name, Content: []byte(scenario)})
		if len(causes) > 0 {
			again = fmt.Sprintf("%s run %s --seed %d", output.Program(), text.ShellWord(filepath.Join(j.Out, name)),
				seed)
		}
	}
	return again, nil
}

// counterexample runs the scenario at the point where an assertion fails, and writes the scenario, plan, history and
// verdict to a folder.
func (j *Sweep) counterexample(s *sweep.Sweep, a *sweep.Asserted, n int) (*single.Run, error) {
	place := fmt.Sprintf("assertion-%d", n)
	path := filepath.Join(j.Out, place, search.ScenarioFile)
	scenario, err := scenarios.Parse(path, []byte(s.Claimed(a.Counter, a.Law, a.Want)))
	if err != nil {
		return nil, err
	}
	scenario.Path = path // the scenario will be written there
	plan := nemesis.Plan{Scenario: scenario.Name, Seed: a.Seed, Faults: scenario.Faults}
	result, err := scenarios.NewRunner(scenario).Run(plan)
	if err != nil {
		return nil, err
	}
	run, err := single.Explain(scenario, result, scenario.Judge(result))
	if err != nil {
		return nil, err
	}
	run.Files = filepath.Join(j.Out, place)
	run.Repeat = fmt.Sprintf("%s run %s --seed %d", output.Program(), text.ShellWord(path), a.Seed)
	WriteRun(&j.Frame, place, Inputs(scenario, plan, Repetition{Digest: run.Digest}), run)
	return run, nil
}

// repeat returns the command that repeats the sweep.
func (j *Sweep) repeat() string {
	return strings.Join(append([]string{output.Program(), "sweep", text.ShellWord(j.Asked.Target)}, j.given()...), " ")
}

// given returns the flags that describe the sweep, as they were typed.
func (j *Sweep) given() (call []string) {
	a := &j.Asked
	for _, of := range []struct {
		flag   string
		values []string
	}{{"set", a.Set}, {"vary", a.Vary}, {"assert", a.Assertions}, {"law", a.Laws}, {"resolution", a.Resolution}} {
		for _, v := range of.values {
			call = append(call, "--"+of.flag, text.ShellWord(v))
		}
	}
	if a.Seed != 1 {
		call = append(call, fmt.Sprintf("--seed %d", a.Seed))
	}
	call = append(call, fmt.Sprintf("--seeds %d", a.Seeds))
	if a.EdgeSeeds != edgeSeeds {
		call = append(call, fmt.Sprintf("--edge-seeds %d", a.EdgeSeeds))
	}
	return call
}
