package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/scenarios/remote"
)

// goTest is the test of a Go package that stands in a scenario's place, if one does.
var goTest struct {
	*remote.Test
	folder, name string
}

const runUsage = "take the `TEST` of the Go package in FOLDER, which calls locktest.Run"

// openTest builds a package's test and takes its Config for a scenario, whose runs the test's processes make. A name
// that is no folder is opened as ever.
func openTest(name, test string) (*scenarios.Scenario, error) {
	info, err := os.Stat(name)
	switch folder := err == nil && info.IsDir(); {
	case !folder && test != "":
		return nil, fmt.Errorf("--run %s: %s is no folder with a Go package", test, name)
	case !folder, test == "" && !hasGo(name):
		return open(name)
	}
	t, err := remote.Build(name, test)
	if err != nil {
		return nil, err
	}
	goTest.Test, goTest.folder, goTest.name = t, name, test
	locks.AdmitLibraries(nil)
	scenarios.Delegate(t.Run)
	text, err := t.Scenario()
	if err != nil {
		return nil, err
	}
	s, err := scenarios.Parse(name, text)
	if err == nil {
		s.Path = name
	}
	return s, err
}

// hasGo reports whether a folder holds Go code.
func hasGo(folder string) bool {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	return err == nil && len(files) > 0
}

// withLongRun lets -run be written as go test has it.
func withLongRun(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if a == "-run" || strings.HasPrefix(a, "-run=") {
			args[i] = "-" + a
		}
	}
	return args
}

// closeTest ends the processes of the test.
func closeTest() {
	if goTest.Test != nil {
		goTest.Close()
	}
}

// argument is what names a scenario on the command line.
func argument(s *scenarios.Scenario) string {
	word := shellWord(nameOf(s))
	if goTest.Test != nil {
		word += " --run " + shellWord(goTest.name)
	}
	return word
}

// replayOf is the command that repeats the run of a plan file.
func replayOf(plan string) string {
	if goTest.Test == nil {
		return fmt.Sprintf("%s replay %s", program(), shellWord(plan))
	}
	if rel, err := filepath.Rel(goTest.folder, plan); err == nil {
		plan = rel
	}
	return fmt.Sprintf("go test -C %s -run %s -locktest.plan %s", shellWord(goTest.folder), shellWord(goTest.Pattern()),
		shellWord(plan))
}
