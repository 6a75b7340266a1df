package task

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// StoredCode is the code of the clients in a stored search, as a command's flags name it. It is not in the folder of
// the search.
type StoredCode struct {
	Client  string // --client: the command that starts a program
	Package string // --package: the folder of a Go package
	Test    string // --run: a test in this package
}

// check returns an error if the flags contradict each other, or if one that belongs to another is missing.
func (c *StoredCode) check() error {
	switch {
	case c.Client != "" && c.Package+c.Test != "":
		return errors.New("--client and --package name two different clients: give one of them")
	case c.Package == "" && c.Test != "":
		return fmt.Errorf("--run %s needs --package with the folder of the test's Go package", c.Test)
	case c.Package != "" && c.Test == "":
		return fmt.Errorf("--package %s needs --run with the name of a test", c.Package)
	}
	return nil
}

// Open opens the scenario of a search that is stored in a folder, with the code that c names. If c names none, but the
// search had other clients than the scenario's own protocol, the scenario cannot be run, and the Guest is Missing.
func (c *StoredCode) Open(dir string, r *search.Result) (s *scenarios.Scenario, g *Guest, err error) {
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	switch {
	case c.Package != "":
		s, g, err = OpenTest(c.Package, c.Test)
	case c.Client != "":
		if s, err = ScenarioIn(dir, r.Scenario, r.MatchesText); err == nil {
			s, g, err = With(s, c.Client)
		}
	case r.Identity.Clients != scenarios.Origin{}:
		return without(dir, r, r.Identity.Clients)
	default:
		if s, err = ScenarioIn(dir, r.Scenario, r.Matches); err == nil {
			return s, nil, nil
		}
		if _, _, other := without(dir, r, scenarios.Origin{}); other == nil {
			err = fmt.Errorf("%w\nif its clients were programs, add --client CMD; if they were a Go test, add "+
				"--package FOLDER --run TEST", err)
		}
		return nil, nil, err
	}
	if err == nil {
		if err = r.Matches(s); err != nil {
			err = fmt.Errorf("%s %w", dir, err)
		}
	}
	return s, g, err
}

// flagsFor returns the flags of StoredCode that name the code.
func flagsFor(o scenarios.Origin) string {
	if o.Client == "" {
		return fmt.Sprintf("--package %s --run %s", text.ShellWord(o.Folder), text.ShellWord(o.Test))
	}
	flags := "--client " + text.ShellWord(o.Client)
	if strings.Contains(o.Client, live.Hidden) {
		flags += ", with the passwords in place of " + live.Hidden
	}
	return flags
}

// without opens the scenario of a search in a folder, without the code of its clients.
func without(dir string, r *search.Result, clients scenarios.Origin) (s *scenarios.Scenario, g *Guest, err error) {
	g = &Guest{client: clients.Client, folder: filepath.FromSlash(clients.Folder), name: clients.Test}
	g.missing = fmt.Errorf("%s holds the results of %s, and reporting them takes further runs: add %s", dir, clients,
		flagsFor(clients))
	code := &scenarios.Code{Origin: clients}
	if clients.Client != "" {
		code = live.Programs(clients)
	}
	code.Elsewhere = func(*scenarios.Scenario, nemesis.Plan, scenarios.Wanted) (scenarios.Result, error) {
		return scenarios.Result{}, g.missing
	}
	if clients.Client != "" {
		if s, err = ScenarioIn(dir, r.Scenario, r.MatchesText); err != nil {
			return nil, nil, err
		}
		return s.With(code), g, nil
	}
	path := filepath.Join(dir, search.ScenarioFile)
	content, err := os.ReadFile(path)
	if err == nil {
		s, err = scenarios.ParseWith(path, content, code)
	}
	if err != nil {
		return nil, nil, err
	}
	s.Path = g.folder
	if err := r.MatchesText(s); err != nil {
		return nil, nil, fmt.Errorf("%s %w", dir, err)
	}
	return s, g, nil
}
