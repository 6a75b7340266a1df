package task

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/advise"
)

// MostAdviceSeeds is the maximum for --seeds. It is small enough for the sum of two seed ranges to fit in an int.
const MostAdviceSeeds = 1_000_000

// Advice is one invocation of a command that gives advice.
type Advice struct {
	output.Frame
	Options  advise.Options
	Scenario *scenarios.Scenario
	Guest    *Guest   // the code of the clients' lock; nil: the scenario's own protocol
	Limit    []string // flags of the command that set its limit of processor time
}

// Prepare checks that the results can be written, before anything runs.
func (j *Advice) Prepare() error {
	if j.Out == "" {
		j.Out = "_runs/advise-" + j.Scenario.Name
	}
	if err := j.Open("advise"); err != nil {
		return err
	}
	names := []string{VerdictFile}
	for n := range advise.Confirmed {
		file, patch := filesOfChange(n)
		names = append(names, file, patch)
	}
	return j.Files.Spare(names...)
}

// Conclude writes and reports the result.
func (j *Advice) Conclude(a *advise.Advice) error {
	report := &advise.Report{Advice: a, Scenario: j.Scenario, Files: j.Out,
		Repeat: strings.Join(append([]string{output.Program(), "advise", j.Guest.Argument(j.Scenario),
			fmt.Sprintf("--seed %d --seeds %d", j.Options.From, j.Options.Seeds)}, j.Limit...), " ")}
	if err := j.save(report); err != nil {
		return err
	}
	document := report.Document()
	j.Keep(VerdictFile, "advise", document)
	return j.Emit(document, report.Standing())
}

// filesOfChange returns the names of the scenario file and the diff for the change with index n.
func filesOfChange(n int) (file, patch string) {
	return fmt.Sprintf("%d.yaml", n+1), fmt.Sprintf("%d.diff", n+1)
}

// save writes the best changes as scenario files and diffs; 1.yaml and 1.diff contain the best one.
func (j *Advice) save(a *advise.Report) error {
	before := j.Scenario.Text()
	named := j.Scenario.Name + ".yaml"
	if j.Scenario.Path != "" {
		named = filepath.ToSlash(j.Scenario.Path)
	}
	for i := range min(advise.Confirmed, len(a.Mending)) {
		text, err := a.File(a.Mending[i])
		if byHand := (*advise.CommentsError)(nil); errors.As(err, &byHand) {
			a.Written = append(a.Written, "")
			if i == 0 {
				a.ByHand = byHand
			}
			continue
		}
		if err != nil {
			return err
		}
		file, patch := filesOfChange(i)
		// Drop the first line, which only Go's own tools need.
		_, change, _ := strings.Cut(string(diff.Diff(named, before, named, text)), "\n")
		j.Files.Keep(output.File{Name: file, Content: text}, output.File{Name: patch, Content: []byte(change)})
		a.Written = append(a.Written, filepath.ToSlash(filepath.Join(j.Out, file)))
		if i == 0 {
			a.Diff = change
		}
	}
	return nil
}
