package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/remote"
)

// goTest is the test of a Go package in place of a scenario. A nil one is none.
type goTest struct {
	*remote.Test
	folder, name string
}

const runUsage = "take the `TEST` of the Go package in FOLDER, which calls locktest.Run"

// openTest builds a package's test and makes a scenario of its Config, whose runs the test's processes make until it is
// closed. A name that is not a folder is opened as usual.
func openTest(name, test string) (*scenarios.Scenario, *goTest, error) {
	info, err := os.Stat(name)
	switch folder := err == nil && info.IsDir(); {
	case !folder && test != "":
		return nil, nil, fmt.Errorf("--run %s: %s is no folder with a Go package", test, name)
	case !folder, test == "" && !hasGo(name):
		s, err := open(name)
		return s, nil, err
	}
	built, err := remote.Build(name, test)
	if err != nil {
		return nil, nil, err
	}
	t := &goTest{built, name, test}
	text, err := t.Scenario()
	if err != nil {
		return nil, t, err
	}
	s, err := scenarios.ParseWith(name, text, &scenarios.Code{Elsewhere: t.Run})
	if err == nil {
		s.Path = name
	}
	return s, t, err
}

// hasGo reports whether a folder holds Go code.
func hasGo(folder string) bool {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	return err == nil && len(files) > 0
}

// withLongRun allows -run, as go test writes it.
func withLongRun(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if a == "-run" || strings.HasPrefix(a, "-run=") {
			args[i] = "-" + a
		}
	}
	return args
}

// end ends the processes of the test.
func (t *goTest) end() {
	if t != nil {
		t.Close()
	}
}

// argument is the command-line argument that names a scenario, or the test in its place.
func (t *goTest) argument(s *scenarios.Scenario) string {
	word := shellWord(nameOf(s))
	if t != nil {
		word += " --run " + shellWord(t.name)
	}
	return word
}

// replay is the command that repeats the run of a plan file.
func (t *goTest) replay(plan string) string {
	if t == nil {
		return fmt.Sprintf("%s replay %s", program(), shellWord(plan))
	}
	if rel, err := filepath.Rel(t.folder, plan); err == nil {
		plan = rel
	}
	return fmt.Sprintf("go test -C %s -run %s -locktest.plan %s", shellWord(t.folder), shellWord(t.Pattern()),
		shellWord(plan))
}
