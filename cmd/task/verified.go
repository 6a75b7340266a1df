package task

import (
	"fmt"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/verify"
)

// counterexample is the subfolder for the run that breaks a law.
const counterexample = "counterexample"

// Verification is one invocation of a command that verifies a scenario.
type Verification struct {
	output.Frame
	Repeat string // the command with which the user can repeat the verification
	Guest  *Guest // the code of the clients' lock; nil: the scenario's own protocol
}

// OneRun returns an error if a flag was set that cannot be combined with --requests.
func OneRun(o *verify.Options, changed func(flag string) bool) error {
	for _, flag := range []string{"faults", "delays", "orders", "all-ends"} {
		if o.Requests && changed(flag) {
			return fmt.Errorf("--%s cannot be used with --requests: "+
				"it tries one fault at a time in the run that --seed selects, with that run's delays", flag)
		}
	}
	return nil
}

// Prepare checks that the findings can be written, before anything runs.
func (j *Verification) Prepare() error {
	if err := j.Open("verify"); err != nil {
		return err
	}
	return j.Files.Spare(append(FilesOfRun(counterexample), VerdictFile)...)
}

// Conclude writes and reports the result. If there is a counterexample, it also writes its files.
func (j *Verification) Conclude(v *verify.Verification) error {
	r := &verify.Report{Verification: v, Files: j.Out, Repeat: j.Repeat}
	if v.Found != nil {
		var err error
		if r.Run, err = j.counterexample(v); err != nil {
			return err
		}
	}
	report := r.Document()
	j.Keep(VerdictFile, "verify", report)
	standing, _ := v.Standing()
	return j.Emit(report, standing)
}

// counterexample repeats the counterexample's run and writes its files. One of them is the scenario with this run's
// delays.
func (j *Verification) counterexample(v *verify.Verification) (*single.Run, error) {
	s := v.Assignments[v.Found.Assignment].Scenario
	result, err := scenarios.NewRunner(s).Run(v.Found.Plan)
	if err != nil {
		return nil, err
	}
	run, err := single.Explain(s, result, s.Judge(result))
	if err != nil {
		return nil, err
	}
	run.HoldTo(s.Promise)
	run.Files = filepath.Join(j.Out, counterexample)
	path := filepath.Join(run.Files, search.PlanFile)
	run.Repeat = j.Guest.Replay(path)
	plan := v.Found.Plan
	plan.Scenario = "./" + search.ScenarioFile
	files := []search.File{{Name: search.PlanFile, Text: []byte(planText(plan, Repetition{Digest: run.Digest,
		Command: j.Guest.Elsewhere(path)}))},
		{Name: search.ScenarioFile, Text: s.Text()}}
	WriteRun(&j.Frame, counterexample, files, run)
	return run, nil
}
