package task

import (
	"fmt"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/compare"
)

// Comparison is one invocation of a command that compares all locks.
type Comparison struct {
	output.Frame
	Seeds int // number of runs for each table cell
}

// Prepare checks, before anything is run, that the scenarios for all entries in the comparison can be written.
func (j *Comparison) Prepare() error {
	err := j.Open("compare")
	if err != nil || j.Out == "" {
		return err
	}
	var names []string
	for _, s := range compare.Scenarios() {
		names = append(names, comparedFile(s.Name))
	}
	return j.Files.Spare(names...)
}

// Conclude reports the results. It also writes the scenarios from which the figures were obtained, so that "fencepost
// run" can repeat them.
func (j *Comparison) Conclude(c *compare.Comparison) error {
	for i := range c.Locks {
		for _, f := range c.Locks[i].Scenarios() {
			j.Files.Keep(output.File{Name: comparedFile(f.Name), Content: []byte(f.Text)})
		}
	}
	standing := document.Passed
	if c.Interrupted {
		standing = document.Undecided
	}
	report := &compare.Report{Comparison: c, Files: j.Out, Repeat: j.repeat()}
	return j.Emit(report.Document(), standing)
}

func comparedFile(name string) string { return name + ".yaml" }

// repeat returns the command that repeats the comparison.
func (j *Comparison) repeat() string {
	call := fmt.Sprintf("%s compare --seeds %d", output.Program(), j.Seeds)
	if j.Out != "" {
		call += " --out " + text.ShellWord(j.Out)
	}
	return call
}
