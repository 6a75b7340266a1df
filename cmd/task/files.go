package task

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// FolderFor returns the default folder for a command's results. Its name contains a hash of the scenario and of the
// given options. So a command with different options writes to a different folder, and the same command replaces its
// results.
func FolderFor(name string, s *scenarios.Scenario, asked ...string) string {
	sum := sha256.New()
	for _, text := range append(asked, string(s.Text())) {
		fmt.Fprintf(sum, "%d %s\n", len(text), text)
	}
	return fmt.Sprintf("_runs/%s-%x", name, sum.Sum(nil)[:4])
}

// Inputs returns the files needed to repeat a run. They include the scenario if it is not in the catalog, so that the
// folder can be moved.
func Inputs(s *scenarios.Scenario, plan nemesis.Plan, how Repetition) []search.File {
	if s.Path == "" {
		return []search.File{{Name: search.PlanFile, Text: []byte(planText(plan, how))}}
	}
	plan.Scenario = "./" + search.ScenarioFile
	return []search.File{{Name: search.PlanFile, Text: []byte(planText(plan, how))},
		{Name: search.ScenarioFile, Text: s.Text()}}
}

// The names of the files that contain a run's history and the results.
const (
	HistoryFile = "history.jsonl"
	VerdictFile = "verdict.json"
)

// WriteRun writes the files of one run to the given subfolder of the command's folder: the inputs, the history and the
// verdict.
func WriteRun(f *output.Frame, place string, from []search.File, run *single.Run) {
	for _, file := range from {
		f.Files.Keep(output.File{Name: path.Join(place, file.Name), Content: file.Text})
	}
	f.Draw(path.Join(place, HistoryFile), func(w io.Writer) error { return history.Encode(w, run.History) })
	f.Keep(path.Join(place, VerdictFile), "run", run.Document())
}

// FilesOfRun returns patterns that match the names of all files that WriteRun writes to a subfolder. place is the
// subfolder or a pattern for it.
func FilesOfRun(place string) (all []string) {
	for _, name := range []string{search.PlanFile, search.ScenarioFile, HistoryFile, VerdictFile} {
		all = append(all, path.Join(place, name))
	}
	return all
}

// Repetition says how to repeat a run: exactly (with the same digest), or in real time (with the same options).
type Repetition struct {
	Digest, Options string
	// Command repeats the run in the folder in which the user started it. It is empty if the files in the
	// plan's folder are all that is needed.
	Command string
}

// planText returns the plan, after a comment that says how to repeat its run.
func planText(p nemesis.Plan, how Repetition) string {
	if how.Digest != "" {
		return search.PlanComment("", how.Command, how.Digest) + p.String()
	}
	call := fmt.Sprintf("with: fencepost live %s --plan %s%s", text.ShellWord(p.Scenario), search.PlanFile, how.Options)
	if how.Command != "" {
		call = search.FromThere + how.Command
	}
	return strings.ReplaceAll("# repeat "+call, "\n", "\n# ") + "\n" + p.String()
}
