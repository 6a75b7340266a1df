package task

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/remote"
)

// GoTest is a test of a Go package in place of a scenario. A nil GoTest means that there is none.
type GoTest struct {
	*remote.Test
	folder, name string
}

// TestUsage describes the flag that names the test.
const TestUsage = "take the `TEST` of the Go package in FOLDER, which calls locktest.Run"

// OpenTest builds the test of a package and returns a scenario made from its Config. The test's processes make the runs
// of the scenario until the test is closed. If name is not a folder, OpenTest opens it as a scenario.
func OpenTest(name, test string) (*scenarios.Scenario, *GoTest, error) {
	info, err := os.Stat(name)
	switch folder := err == nil && info.IsDir(); {
	case !folder && test != "":
		return nil, nil, fmt.Errorf("--run %s: %s is no folder with a Go package", test, name)
	case !folder, test == "" && !hasGo(name):
		s, err := Open(name)
		return s, nil, err
	}
	built, err := remote.Build(name, test)
	if err != nil {
		return nil, nil, err
	}
	return opened(&GoTest{built, name, test})
}

// OpenBuilt is like OpenTest, for a test binary that is already built. folder is the package's folder, which need not
// exist on this machine. The test runs in the folder in.
func OpenBuilt(binary, in, folder, test string) (*scenarios.Scenario, *GoTest, error) {
	built, err := remote.Open(binary, in, test)
	if err != nil {
		return nil, nil, err
	}
	return opened(&GoTest{built, folder, test})
}

func opened(t *GoTest) (*scenarios.Scenario, *GoTest, error) {
	text, err := t.Scenario()
	if err != nil {
		return nil, t, err
	}
	s, err := scenarios.ParseWith(t.folder, text, &scenarios.Code{Elsewhere: t.Run})
	if err == nil {
		s.Path = t.folder
	}
	return s, t, err
}

// hasGo reports whether a folder contains Go code.
func hasGo(folder string) bool {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	return err == nil && len(files) > 0
}

// Close ends the processes of the test.
func (t *GoTest) Close() {
	if t != nil {
		t.Test.Close()
	}
}

// Argument returns the command-line argument that names a scenario, or the test in its place.
func (t *GoTest) Argument(s *scenarios.Scenario) string {
	word := output.Word(NameOf(s))
	if t != nil {
		word += " --run " + output.Word(t.name)
	}
	return word
}

// replay returns the command that repeats the run of a plan file.
func (t *GoTest) replay(plan string) string {
	if t == nil {
		return fmt.Sprintf("%s replay %s", output.Program(), output.Word(plan))
	}
	if rel, err := filepath.Rel(t.folder, plan); err == nil {
		plan = rel
	}
	return fmt.Sprintf("go test -C %s -run %s -locktest.plan %s", output.Word(t.folder), output.Word(t.Pattern()),
		output.Word(plan))
}
