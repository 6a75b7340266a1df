package main

import (
	"fmt"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// prepare checks, before anything runs, that the results can be written.
func (j *job) prepare() error {
	if err := j.Open("run"); err != nil {
		return err
	}
	if j.isOneRun() {
		return j.Files.Spare(task.FilesOfRun("")...)
	}
	return j.Files.Spare(append(task.FilesOfRun("seed-*"), task.RunsFile, search.PlanFile, search.ScenarioFile,
		task.VerdictFile)...)
}

func (j *job) isOneRun() bool { return j.seeds == 1 && j.shard == search.Whole }

// planPath returns the path of the plan file for a seed's run.
func (j *job) planPath(seed uint64) string { return filepath.Join(j.folder(seed), search.PlanFile) }

// folder returns the folder for a seed's files.
func (j *job) folder(seed uint64) string { return filepath.Join(j.Out, j.place(seed)) }

// place returns the folder for a seed's files, relative to the command's output folder.
func (j *job) place(seed uint64) string {
	if j.isOneRun() {
		return ""
	}
	return fmt.Sprintf("seed-%d", seed)
}

// write writes the files of one run.
func (j *job) write(run *single.Run) {
	task.WriteRun(&j.Frame, j.place(run.Seed), task.Inputs(j.scenario, j.plan(run.Seed),
		task.Repetition{Digest: run.Digest, Command: j.guest.Elsewhere(j.planPath(run.Seed))}), run)
}

// folderOfRuns returns the default output folder for runs. Its name contains a hash in two cases: if the faults are not
// the scenario's own, or if a plan was replayed with a scenario file, because that file may differ from another
// scenario of the same name.
func folderOfRuns(s *scenarios.Scenario, faults []nemesis.Fault, replayed bool, first uint64, seeds int) string {
	name := fmt.Sprintf("%s-%d", s.Name, first)
	if seeds > 1 {
		name += fmt.Sprintf("-%d", seeds)
	}
	if isOwn(s, faults) && (!replayed || s.Path == "") {
		return "_runs/" + name
	}
	return task.FolderFor(name, s, nemesis.Plan{Faults: faults}.String())
}

// isOwn reports whether faults are exactly those that the scenario specifies.
func isOwn(s *scenarios.Scenario, faults []nemesis.Fault) bool {
	return nemesis.Plan{Faults: faults}.String() == nemesis.Plan{Faults: s.Faults}.String()
}

// writeMany writes the results of many runs: the summary, a folder with files for each interesting run, and the record
// that "fencepost merge" reads. It also writes the scenario, and the plan if one was replayed, so that the runs can be
// repeated.
func (j *job) writeMany(many *search.RunsReport, d *document.Document) {
	record, err := many.Encode()
	if j.Files.Fail(err); err == nil {
		j.Files.Keep(output.File{Name: task.RunsFile, Content: record},
			output.File{Name: search.ScenarioFile, Content: j.scenario.Text()})
	}
	if j.replayed {
		j.Files.Keep(output.File{Name: search.PlanFile, Content: []byte(j.plan(j.first).String())})
	}
	j.Keep(task.VerdictFile, "run", d)
	for _, run := range many.Shown {
		j.write(run)
	}
	if many.Sample != nil && (j.HTML != "" || many.Sample.Verdict.Violated()) {
		j.write(many.Sample)
	}
}
