package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// prepare checks, before anything runs, that the results of the run can be written.
func (j *job) prepare() error {
	if err := j.Open("run"); err != nil {
		return err
	}
	if j.one() {
		return j.Files.Spare(search.PlanFile, search.ScenarioFile, historyFile, verdictFile)
	}
	return j.Files.Spare(runsFile, search.PlanFile, search.ScenarioFile, verdictFile)
}

// one reports whether there is a single run.
func (j *job) one() bool { return j.seeds == 1 && j.shard == search.Whole }

// planPath is the path of the plan of a run.
func (j *job) planPath(seed uint64) string { return filepath.Join(j.folder(seed), search.PlanFile) }

// folder is the folder of the files of one run.
func (j *job) folder(seed uint64) string { return filepath.Join(j.Out, j.place(seed)) }

// place is that folder within the command's own.
func (j *job) place(seed uint64) string {
	if j.one() {
		return ""
	}
	return fmt.Sprintf("seed-%d", seed)
}

// write writes the files of one run.
func (j *job) write(run *single.Run) {
	writeRun(&j.Frame, j.place(run.Seed), inputs(j.scenario, j.plan(run.Seed), repetition{digest: run.Digest}), run)
}

// folderFor names the default folder of a command's results, with a hash of what was asked: another call writes its
// results beside them, and the same call replaces them.
func folderFor(name string, s *scenarios.Scenario, asked ...string) string {
	sum := sha256.New()
	for _, text := range append(asked, string(s.Text())) {
		fmt.Fprintf(sum, "%d %s\n", len(text), text)
	}
	return fmt.Sprintf("_runs/%s-%x", name, sum.Sum(nil)[:4])
}

// folderOfRuns names the default folder of runs. Runs of another plan than the scenario's own have a hash in the name,
// and so have those of a plan that lay beside its scenario, which need not be the one that the user knows by its name.
func folderOfRuns(s *scenarios.Scenario, faults []nemesis.Fault, replayed bool, first uint64, seeds int) string {
	name := fmt.Sprintf("%s-%d", s.Name, first)
	if seeds > 1 {
		name += fmt.Sprintf("-%d", seeds)
	}
	if isOwn(s, faults) && (!replayed || s.Path == "") {
		return "_runs/" + name
	}
	return folderFor(name, s, nemesis.Plan{Faults: faults}.String())
}

// isOwn reports whether faults are those of the scenario itself.
func isOwn(s *scenarios.Scenario, faults []nemesis.Fault) bool {
	return nemesis.Plan{Faults: faults}.String() == nemesis.Plan{Faults: s.Faults}.String()
}

// inputs are the files that a run was made from. A scenario that is not in the catalogue is included, so that the
// folder can be moved.
func inputs(s *scenarios.Scenario, plan nemesis.Plan, how repetition) []search.File {
	if s.Path == "" {
		return []search.File{{Name: search.PlanFile, Text: []byte(planText(plan, how))}}
	}
	plan.Scenario = "./" + search.ScenarioFile
	return []search.File{{Name: search.PlanFile, Text: []byte(planText(plan, how))},
		{Name: search.ScenarioFile, Text: s.Text()}}
}

// The files of a folder that hold what happened and the results.
const (
	historyFile = "history.jsonl"
	verdictFile = "verdict.json"
)

// writeRun writes the files of one run to a place in the command's folder: its inputs, what happened, and the results.
func writeRun(f *output.Frame, place string, from []search.File, run *single.Run) {
	for _, file := range from {
		f.Files.Keep(output.File{Name: path.Join(place, file.Name), Content: file.Text})
	}
	f.Draw(path.Join(place, historyFile), func(w io.Writer) error { return history.Encode(w, run.History) })
	f.Keep(path.Join(place, verdictFile), "run", run.Document())
}

// repetition says how a run is repeated: to the digest, or in real time, with options.
type repetition struct{ digest, options string }

// planText is the plan with the way to repeat its run.
func planText(p nemesis.Plan, how repetition) string {
	if how.digest == "" {
		call := fmt.Sprintf("# repeat with: fencepost live %s --plan plan.txt%s", shellWord(p.Scenario), how.options)
		return strings.ReplaceAll(call, "\n", "\n# ") + "\n" + p.String()
	}
	return fmt.Sprintf("# repeat with: fencepost replay plan.txt; the run's digest is %s\n%s", how.digest, p)
}

// writeMany leaves the sum of many runs, and the files of each run worth showing in a folder of its own.
// What was run goes along, for merge and to be run again.
func (j *job) writeMany(many *search.RunsReport, d *document.Document) {
	record, err := many.Encode()
	if j.Files.Fail(err); err == nil {
		j.Files.Keep(output.File{Name: runsFile, Content: record},
			output.File{Name: search.ScenarioFile, Content: j.scenario.Text()})
	}
	if j.replayed {
		j.Files.Keep(output.File{Name: search.PlanFile, Content: []byte(j.plan(j.first).String())})
	}
	j.Keep(verdictFile, "run", d)
	for _, run := range many.Shown {
		j.write(run)
	}
	if many.Sample != nil && (j.HTML != "" || many.Sample.Verdict.Violated()) {
		j.write(many.Sample)
	}
}
