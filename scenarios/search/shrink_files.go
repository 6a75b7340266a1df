package search

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// The names of files that hold a shrunk violation. The plan names the scenario as a file beside it.
const (
	PlanFile     = "plan.txt"
	ScenarioFile = "scenario.yaml"
)

// File is a file to be written: its name, without a folder, and what it holds.
type File struct {
	Name string
	Text []byte
}

// Files are the violation as files for one folder, each of which fails again when run: a plan (fencepost replay), a
// scenario (fencepost run with the plan's seed) and a Go test, in a package of the given name. Where the lock is a
// library's, the test that has it repeats the plan.
func (r *Shrunk) Files(pkg string) []File {
	if r.Scenario.FromLibrary() {
		return []File{{PlanFile, r.PlanText()}, {ScenarioFile, r.Scenario.Text()}}
	}
	test := strings.TrimLeft(strings.ReplaceAll(r.Scenario.Name, "-", "_"), "_") // Go ignores files that begin with "_"
	return []File{
		{PlanFile, r.PlanText()},
		{ScenarioFile, r.Scenario.Text()},
		{test + "_test.go", r.goTest(pkg)},
	}
}

// Explained is the run of the plan, with the reasons of its violations.
func (r *Shrunk) Explained() (*single.Run, error) {
	result, err := scenarios.NewRunner(r.Scenario).Run(r.Plan)
	if err != nil {
		return nil, err
	}
	run, err := single.Explain(r.Scenario, result, r.Scenario.Judge(result))
	if err == nil {
		run.Focus = &single.Focus{Law: r.Law, Cause: r.Cause}
	}
	return run, err
}

// PlanText is the plan as the text of a file beside that of the scenario.
func (r *Shrunk) PlanText() []byte {
	p := r.Plan
	p.Scenario = "./" + ScenarioFile
	return fmt.Appendf(nil, "# %s is violated by %s; repeat with: fencepost replay %s; the run's digest is %016x\n%s",
		r.Law, r.Cause, PlanFile, uint64(r.Digest), p)
}

// goTest is a file of package %[1]s with the test %[2]s.
const goTest = `package %[1]s

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// %[2]s fails as long as %[3]s.
// Mend the lock in the scenario as you mend it in your code; leave the faults as they are.
func %[2]s(t *testing.T) {
	const scenario = %[4]s
	if err := scenarios.CheckLaw(scenario, %[5]d, checker.%[6]s); err != nil {
		t.Fatal(err)
	}
}
`

// goTest is a file with a regression test, for a package of the given name. The test needs nothing but this module. It
// fails as long as the law does not hold, and also if a changed scenario no longer exercises the law.
func (r *Shrunk) goTest(pkg string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, goTest, pkg, "Test"+camel(r.Scenario.Name), r.story(), goString(string(r.Scenario.Text())),
		r.Plan.Seed, camel(string(r.Law)))
	return b.Bytes()
}

// goString writes a text as Go code, in lines as it is where that can be.
func goString(s string) string {
	if strconv.CanBackquote(strings.ReplaceAll(s, "\n", "")) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// camel writes "mutual-exclusion" as "MutualExclusion".
func camel(s string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(s, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
