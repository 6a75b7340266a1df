package task

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/remote"
)

// Guest is code that replaces the scenario's own protocol as the clients' lock. It is either a test from a Go package
// or a program for each client. A nil Guest means there is none.
type Guest struct {
	*remote.Test        // nil: the code is a program, or a test that has not been built
	folder, name string // the folder and name of the test; empty: the code is a program
	programs     *live.Virtual
	client       string // the command that starts the program; empty: the code is a test
	missing      error  // see Missing
}

// TestUsage is the usage text for the flag that names the test.
const TestUsage = "run the `TEST` of the Go package in FOLDER, which must call locktest.Run"

// OpenTest builds a package's test and returns a scenario made from its Config. The scenario runs in processes of the
// test binary, which end when the Guest is closed. If name is not a folder, OpenTest opens it as a scenario.
func OpenTest(name, test string) (*scenarios.Scenario, *Guest, error) {
	info, err := os.Stat(name)
	switch folder := err == nil && info.IsDir(); {
	case !folder && test != "":
		return nil, nil, fmt.Errorf("--run %s: %s is not a folder with a Go package", test, name)
	case !folder, test == "" && !hasGo(name):
		s, err := Open(name)
		return s, nil, err
	}
	built, err := remote.Build(name, test)
	if err != nil {
		return nil, nil, err
	}
	return opened(&Guest{Test: built, folder: name, name: test})
}

// OpenBuilt is like OpenTest, but for a test binary that has already been built. workDir is the binary's working
// directory. The package's folder need not exist on this machine.
func OpenBuilt(binary, workDir, folder, test string) (*scenarios.Scenario, *Guest, error) {
	built, err := remote.Open(binary, workDir, test)
	if err != nil {
		return nil, nil, err
	}
	return opened(&Guest{Test: built, folder: folder, name: test})
}

func opened(t *Guest) (*scenarios.Scenario, *Guest, error) {
	text, err := t.Test.Scenario()
	if err != nil {
		return nil, t, err
	}
	origin, err := t.Test.Origin(t.folder)
	if err != nil {
		return nil, t, err
	}
	s, err := scenarios.ParseWith(t.folder, text, &scenarios.Code{Elsewhere: t.Test.Run, Origin: origin})
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

// ClientUsage is the usage text for the flag that names the program.
const ClientUsage = "run the program `CMD` as each client, in virtual time, on Linux;\n" +
	"fencepost live -h describes its input and what it reports"

// OpenWith is like OpenTest if client is empty. Otherwise client is a command, and OpenWith opens a scenario in which
// each client is a process running this command. The scenario can be run until the Guest is closed.
func OpenWith(name, test, client string) (*scenarios.Scenario, *Guest, error) {
	if client == "" {
		return OpenTest(name, test)
	}
	if test != "" {
		return nil, nil, errors.New("--client and --run name two different clients: give one of them")
	}
	s, err := Open(name)
	if err != nil {
		return nil, nil, err
	}
	return With(s, client)
}

// With returns a copy of a scenario that runs the given command for each client.
func With(s *scenarios.Scenario, client string) (*scenarios.Scenario, *Guest, error) {
	v, err := live.NewVirtual(client)
	if err != nil {
		return nil, nil, err
	}
	return s.With(v.Code()), &Guest{programs: v, client: client}, nil
}

// Close stops the processes that the Guest started, for the test or for the program.
func (t *Guest) Close() {
	switch {
	case t == nil:
	case t.Test != nil:
		t.Test.Close()
	case t.programs != nil:
		t.programs.Close()
	}
}

// Missing returns an error if the code is not here, so that nothing can be run. The error says which flags name it.
func (t *Guest) Missing() error {
	if t == nil {
		return nil
	}
	return t.missing
}

// Stop ends all program runs that are in progress. It can be called from any goroutine.
func (t *Guest) Stop() {
	if t != nil && t.programs != nil {
		t.programs.Stop()
	}
}

// Argument returns the command-line argument that names the scenario or the test, followed by the flag that names the
// program, if any.
func (t *Guest) Argument(s *scenarios.Scenario) string {
	word := text.ShellWord(NameOf(s))
	if t != nil && t.name != "" {
		word += " --run " + text.ShellWord(t.name)
	}
	return word + t.With()
}

// With returns the flag that names the program, without the passwords in it, or "" if there is none.
func (t *Guest) With() string {
	if t == nil || t.client == "" {
		return ""
	}
	return " --client " + text.ShellWord(live.WithoutPasswords(t.client))
}

// Elsewhere returns the command that repeats the run with a plan file, or "" if the command needs no code besides the
// files in the plan's folder.
func (t *Guest) Elsewhere(plan string) string {
	if t == nil {
		return ""
	}
	return t.Replay(plan)
}

// Replay returns the command that repeats the run with a plan file.
func (t *Guest) Replay(plan string) string {
	if t == nil || t.name == "" {
		return fmt.Sprintf("%s replay %s%s", output.Program(), text.ShellWord(plan), t.With())
	}
	if rel, err := filepath.Rel(t.folder, plan); err == nil {
		plan = rel
	}
	return fmt.Sprintf("go test -C %s -run %s -locktest.plan %s", text.ShellWord(t.folder),
		text.ShellWord(remote.Pattern(t.name)), text.ShellWord(plan))
}
