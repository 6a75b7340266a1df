package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

func TestMain(m *testing.M) {
	process.Main()
	if os.Getenv("FENCEPOST_CLIENT") != "" { // a live run has started this process as a client
		main()
	}
	flag.Set("test.parallel", "4") // some tests run in real time and mostly wait
	testscript.Main(m, map[string]func(){"fencepost": main, "fencepost-interrupted": interruptedMain})
}

// TestCommand runs commands as a user would type them, and compares what the user would see with what the scripts
// expect.
func TestCommand(t *testing.T) { runScripts(t, testscript.Params{Dir: "testdata/command"}) }

// TestScenario runs the catalog's scenarios with their first seed, and compares each whole report with a golden file.
// Unless this is a full run, it runs only some of the scenarios.
func TestScenario(t *testing.T) {
	files, err := filepath.Glob("testdata/scenario/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var some []string
	for i, f := range files {
		if *testkit.Update || i%testkit.Size(9, 3, 1) == 0 {
			some = append(some, f)
		}
	}
	runScripts(t, testscript.Params{Files: some})
	var named []string
	for _, f := range files {
		named = append(named, strings.TrimSuffix(filepath.Base(f), ".txtar"))
	}
	slices.Sort(named)
	if names := slices.Sorted(slices.Values(scenarios.Names())); !slices.Equal(named, names) {
		t.Errorf("reports of %v\nscenarios %v", named, names)
	}
}

// runScripts runs p's scripts.
func runScripts(t *testing.T, p testscript.Params) {
	testscript.Run(t, testscript.Params{
		Dir:                 p.Dir,
		Files:               p.Files,
		UpdateScripts:       *testkit.Update,
		RequireExplicitExec: true,
		// [full] marks lines that are executed only in a full run, and [thorough] those that are also executed in
		// continuous integration (see package testkit).
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "full":
				return testkit.Full(), nil
			case "thorough":
				return testkit.Thorough() || *testkit.Update, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"folders": countFolders},
		Setup: func(e *testscript.Env) error {
			e.Setenv("COLUMNS", "100")
			return nil
		},
	})
}

// countFolders implements the script command "folders DIR PREFIX N". It checks that exactly N folders in DIR have names
// with the prefix.
func countFolders(ts *testscript.TestScript, not bool, args []string) {
	if not || len(args) != 3 {
		ts.Fatalf("usage: folders DIR PREFIX N")
	}
	found, err := filepath.Glob(ts.MkAbs(filepath.Join(args[0], args[1]+"*")))
	ts.Check(err)
	if fmt.Sprint(len(found)) != args[2] {
		ts.Fatalf("there are %d, want %s: %q", len(found), args[2], found)
	}
}
