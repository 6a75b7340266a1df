package task

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/sim"
)

// deletes returns the scenario text for a lock that deletes its key at the release without comparing the owner, unlike
// the scenario's own protocol.
func deletes(text []byte) []byte {
	return regexp.MustCompile(`protocol: (library|set-nx-px)`).ReplaceAll(text,
		[]byte("protocol: set-nx-px, release: del"))
}

// writes explores a lock that deletes other clients' keys, with clients of the given origin and with pauses of the
// given lengths. It writes the findings to a folder.
func writes(t *testing.T, g *Guest, o scenarios.Origin, pause string) *Exploration {
	t.Helper()
	text := "name: a-lock\nservers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: 1s}\n" +
		"work: {hold: 500ms}\nmix: {weights: {pause: 1}, pause: " + pause + "}\npromise: [ownership]\n"
	code := &scenarios.Code{Origin: o,
		Elsewhere: func(s *scenarios.Scenario, p nemesis.Plan, w scenarios.Wanted) (scenarios.Result, error) {
			real, err := scenarios.Parse("real.yaml", deletes(s.Text()))
			if err != nil {
				return scenarios.Result{}, err
			}
			runner := scenarios.NewRunner(real)
			runner.ReportSent(w.Sent)
			return runner.Run(p)
		}}
	switch {
	case o.Client != "":
		code.Programs = sim.Points
	case o.Test != "":
		text = strings.Replace(text, "set-nx-px", "library", 1)
	default:
		text = string(deletes([]byte(text)))
	}
	s, err := scenarios.ParseWith("a-lock.yaml", []byte(text), code)
	if err != nil {
		t.Fatal(err)
	}
	s.Path = "a-lock.yaml"
	x := &Exploration{Scenario: s, Test: g, Found: searched(t, s, 16)}
	prepared(t, x)
	x.Save()
	conclude(t, x)
	return x
}

// TestEachFileReproducesTheFindingOfItsClients checks each file that an exploration offers for a finding, with each
// kind of clients. A file that runs the scenario's own protocol must show the finding. A file that needs other code
// must name it.
func TestEachFileReproducesTheFindingOfItsClients(t *testing.T) {
	for _, c := range []struct {
		guest          *Guest
		origin         scenarios.Origin
		command, named string
	}{
		{nil, scenarios.Origin{}, "with: fencepost replay plan.txt;", ""},
		{&Guest{client: "a worker"}, scenarios.Origin{Client: "a worker"}, " replay PATH --client 'a worker'",
			"the program 'a worker'"},
		{&Guest{folder: "lock", name: "TestLock"},
			scenarios.Origin{Package: "example.com/lock", Test: "TestLock", Folder: "lock"},
			"go test -C lock -run '^TestLock$' -locktest.plan PATH",
			"the test TestLock of the Go package example.com/lock"},
	} {
		found, close := writes(t, c.guest, c.origin, "2s..3s"), writes(t, c.guest, c.origin, "100ms..600ms")
		files, err := filepath.Glob(filepath.Join(found.Out, "*-*", "*"))
		closest, err2 := filepath.Glob(filepath.Join(close.Out, "closest-*"))
		if err != nil || err2 != nil || len(files) < 4 || len(closest) == 0 {
			t.Fatalf("%v, %v: %q, %q", err, err2, files, closest)
		}
		for _, path := range append(files, closest...) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			command := strings.ReplaceAll(c.command, "PATH", path)
			law := checker.Law("")
			for _, l := range checker.Laws {
				if strings.HasPrefix(filepath.Base(filepath.Dir(path)), string(l)) {
					law = l
				}
			}
			switch name := filepath.Base(path); {
			case name == HistoryFile, name == VerdictFile:
			case name == search.PlanFile, strings.HasPrefix(name, "closest-"):
				checkPlanFile(t, path, content, command, c.guest != nil || name == search.PlanFile)
			case name == search.ScenarioFile && c.named != "":
				if first, _, _ := strings.Cut(string(content), "\n"); !strings.Contains(first, c.named) {
					t.Errorf("%s: no %q in %q", path, c.named, first)
				}
			case name == search.ScenarioFile, strings.HasSuffix(name, "_test.go"):
				checkShows(t, path, content, law)
			default:
				t.Errorf("it is not known whether %s reproduces its finding", path)
			}
		}
	}
}

// checkPlanFile checks that a plan can be parsed, that its scenario is in its folder, and that it names the command
// that repeats its run.
func checkPlanFile(t *testing.T, path string, content []byte, command string, named bool) {
	t.Helper()
	plan, err := nemesis.ParsePlan(path, content)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), plan.Scenario)); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	if comment, _, _ := strings.Cut(string(content), "\n"); named && !strings.Contains(comment, command) {
		t.Errorf("%s: no %q in %q", path, command, comment)
	}
}

// checkShows checks that the scenario in a scenario file or in a Go test violates the law.
func checkShows(t *testing.T, path string, content []byte, law checker.Law) {
	t.Helper()
	text, seed := string(content), "1"
	if m := regexp.MustCompile("(?s)const scenario = `(.*)`\n.*CheckLaw\\(scenario, (\\d+),").FindStringSubmatch(
		text); m != nil {
		text, seed = m[1], m[2]
	} else if m := regexp.MustCompile(`Seed (\d+) shows\s+it`).FindStringSubmatch(text); m != nil {
		seed = m[1]
	}
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := scenarios.CheckLaw(text, n, law); !errors.As(err, new(*scenarios.NotHeld)) {
		t.Errorf("%s does not show that %s is violated: %v\n%s", path, law, err, content)
	}
}
