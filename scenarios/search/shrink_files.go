package search

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Names of the files that describe a shrunk violation. The plan expects the scenario file to be in the same folder.
const (
	PlanFile     = "plan.txt"
	ScenarioFile = "scenario.yaml"
)

// File is a file to be written: its name, without a folder, and its contents.
type File struct {
	Name string
	Text []byte
}

// Files returns the files that reproduce a shrunk violation. They belong in the same folder: a plan (for fencepost
// replay), a scenario (for fencepost run with the plan's seed) and a Go test in package pkg. If the clients are
// programs or their lock comes from a library, there is no Go test, because it would test the scenario's own protocol.
// The plan then names the command that runs their code, and the scenario names the code. For repeat, see PlanComment.
func (r *Shrunk) Files(pkg, repeat string) []File {
	if r.Scenario.FromLibrary() || r.Scenario.OfPrograms() {
		return []File{{PlanFile, r.PlanText(repeat)}, {ScenarioFile, r.scenarioText()}}
	}
	test := strings.TrimLeft(strings.ReplaceAll(r.Scenario.Name, "-", "_"), "_") // Go ignores files that begin with "_"
	return []File{
		{PlanFile, r.PlanText(repeat)},
		{ScenarioFile, r.Scenario.Text()},
		{test + "_test.go", r.goTest(pkg)},
	}
}

// scenarioText returns the contents of the scenario file for clients whose code is not the scenario's own protocol.
func (r *Shrunk) scenarioText() []byte {
	of := r.Scenario.Origin()
	if of == (scenarios.Origin{}) {
		return r.Scenario.Text()
	}
	return append([]byte("# Run this scenario with "+of.String()+". Without it, another lock is tested.\n"),
		r.Scenario.Text()...)
}

// Explained runs the plan and returns the run with an explanation of its violations.
func (r *Shrunk) Explained() (*single.Run, error) {
	result, err := scenarios.NewRunner(r.Scenario).Run(r.Plan)
	if err != nil {
		return nil, err
	}
	if result.Digest != r.Digest {
		return nil, &UnrepeatedError{r.Law, r.Cause, "the smallest run was different when it was repeated"}
	}
	run, err := single.Explain(r.Scenario, result, r.Scenario.Judge(result))
	if err == nil {
		run.Focus = &single.Focus{Law: r.Law, Cause: r.Cause}
	}
	return run, err
}

// PlanParts are the parts of a plan file, without the command that repeats the run.
type PlanParts struct {
	About, Digest string // what the comment says: see PlanComment
	Plan          string
}

// Text returns the contents of the plan file. For repeat, see PlanComment.
func (p PlanParts) Text(repeat string) string { return PlanComment(p.About, repeat, p.Digest) + p.Plan }

// PlanParts returns the parts of the plan file, which must be in the same folder as the scenario file.
func (r *Shrunk) PlanParts() PlanParts {
	p := r.Plan
	p.Scenario = "./" + ScenarioFile
	return PlanParts{fmt.Sprintf("%s is violated by %s; ", r.Law, r.Cause), fmt.Sprintf("%016x", uint64(r.Digest)),
		p.String()}
}

// PlanText returns the contents of the plan file. For repeat, see PlanComment.
func (r *Shrunk) PlanText(repeat string) []byte { return []byte(r.PlanParts().Text(repeat)) }

// FromThere introduces a command that must be called in the folder in which the plan file was made.
const FromThere = "in the folder where the run was started, with: "

// PlanComment returns the comment at the beginning of a plan file: the text in about, and how to repeat the plan's run.
// repeat is the command for it, or "" if "fencepost replay" does it in the plan's folder. Other commands name code that
// is not in that folder, so they are for the folder in which the user started the run.
func PlanComment(about, repeat, digest string) string {
	how := "with: fencepost replay " + PlanFile
	if repeat != "" {
		how = FromThere + repeat
	}
	comment := fmt.Sprintf("# %srepeat %s; the run's digest is %s", about, how, digest)
	return strings.ReplaceAll(comment, "\n", "\n# ") + "\n"
}

// goTest is the template of a test file. %[1]s is its package, %[2]s the test's name, %[3]s what breaks, %[4]s the
// scenario as a Go literal, %[5]d the seed, and %[6]s the law.
const goTest = `package %[1]s

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// %[2]s fails as long as %[3]s.
// When you fix the lock in your code, fix it in the scenario too; do not change the faults.
func %[2]s(t *testing.T) {
	const scenario = %[4]s
	if err := scenarios.CheckLaw(scenario, %[5]d, checker.%[6]s); err != nil {
		t.Fatal(err)
	}
}
`

// goTest returns a Go file with a regression test in package pkg. The test depends only on this module. It fails as
// long as the law is violated. It also fails if the scenario is changed so that it no longer exercises the law.
func (r *Shrunk) goTest(pkg string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, goTest, pkg, "Test"+camel(r.Scenario.Name), r.story(), goString(string(r.Scenario.Text())),
		r.Plan.Seed, camel(string(r.Law)))
	return b.Bytes()
}

// goString returns s as a Go string literal, a raw one if possible.
func goString(s string) string {
	if strconv.CanBackquote(strings.ReplaceAll(s, "\n", "")) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// camel converts a name to camel case: "mutual-exclusion" becomes "MutualExclusion".
func camel(s string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(s, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
