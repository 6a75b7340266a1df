// Package matrixtest contains tests shared by the modules that test client libraries. It tests locks under families of
// faults. For each kind of violation, it stores the smallest run and replays it. It also writes tables of the results,
// checks that equal seeds give equal runs and that memory use stays bounded, and measures the cost of the simulation.
//
// Goals: each finding in a table names its cause and can be replayed. Non-goals: describing the clients and explaining
// their behavior; the tests that use this package do that.
package matrixtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// Client is a client library's lock, with its configuration.
type Client struct {
	Name string
	locktest.Config
	Tokenless bool // whether the lock lacks fencing tokens
}

// Family is a family of faults, drawn with the default mix's weights.
type Family struct {
	Name   string
	Faults locktest.Faults // nil means all faults
}

// Families lists the families of faults that can affect every lock service. The last one contains all faults.
var Families = []Family{{"pauses", locktest.Pauses}, {"network", locktest.Network}, {"restarts", locktest.Restarts},
	{"clocks", locktest.Clocks}, {"all", nil}}

// Protections lists the ways in which a client can protect itself, in table order.
var Protections = []struct {
	Name        string
	Precautions locktest.Precautions
}{
	{"none", locktest.Precautions{}},
	{"stops", locktest.Precautions{StopsWhenLost: true}},
	{"fenced", locktest.Precautions{StopsWhenLost: true, Fences: true}},
}

// Seeds is the number of runs in each cell of the matrix.
const Seeds = 40

// Result is what the matrix found about one client. It is stored in testdata/CLIENT.json.
type Result struct {
	Cells    []Cell
	Findings []Finding
}

// Cell counts the runs that violated a law for one cause, under one family of faults and with one of the Protections.
type Cell struct {
	Family     string
	Protection string `json:"Care"` // the Name of the protection
	Law        checker.Law
	Cause      checker.Cause
	Runs       int
}

// Finding is one kind of violation under a family of faults. Its smallest run is stored in testdata/Name.
type Finding struct {
	Name, Family string
	Law          checker.Law
	Cause        checker.Cause
	Faults       []string // the faults of the plan, one per line
}

// Way returns the law and the cause as text.
func (f *Finding) Way() string { return fmt.Sprintf("%s: %s", f.Law, f.Cause) }

// underway reports whether this process is executing runs for another process. If so, it must not write any files.
func underway() bool { return os.Getenv("FENCEPOST_LOCKTEST") != "" }

// Run tests each client under each family if -update is set, and writes the results and the smallest runs to testdata.
// Without -update, it skips the test; Replay then checks the stored findings.
func Run(t *testing.T, clients []Client, families []Family) {
	t.Helper()
	if !*testkit.Update && !underway() {
		t.Skip("this test runs only with -update; otherwise, its recorded findings are replayed")
	}
	for _, client := range clients {
		t.Run(client.Name, func(t *testing.T) {
			m := matrix{client: client.Name, smallest: map[string]*locktest.ShrunkRun{}}
			for _, p := range Protections {
				if p.Precautions.Fences && client.Tokenless {
					continue
				}
				for _, family := range families {
					c := client.Config
					c.Faults, c.Precautions, c.Laws = family.Faults, p.Precautions, checker.Laws
					c.Seeds, c.Cycles = Seeds, 2
					if r, ok := locktest.Explore(t, c); ok {
						m.add(t, family.Name, p.Name, r)
					}
				}
			}
			if !underway() {
				m.write(t)
			}
		})
	}
}

// matrix collects the findings about one client.
type matrix struct {
	client string
	Result
	smallest map[string]*locktest.ShrunkRun // keyed by the name of the finding
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// add records the result in one cell. It shrinks each finding only once, in the first cell where it occurs, which is
// the one with the fewest precautions.
func (m *matrix) add(t *testing.T, family, protection string, r *locktest.Report) {
	t.Helper()
	for _, f := range r.Failures {
		t.Errorf("%s, %s: seed %d: %s", family, protection, f.Seed, f.Text)
	}
	for _, b := range r.Breaches {
		m.Cells = append(m.Cells, Cell{family, protection, b.Law, b.Cause, b.Runs})
		name := fmt.Sprintf("%s %s %s %s", m.client, family, b.Law, b.Cause)
		if name = strings.Trim(notInNames.ReplaceAllString(name, "-"), "-"); m.smallest[name] != nil {
			continue
		}
		small, err := r.Shrink(b)
		if err != nil {
			t.Error(err)
			continue
		}
		small.Test = findingTest(name)
		m.smallest[name] = small
		m.Findings = append(m.Findings, Finding{name, family, b.Law, b.Cause, faultsOf(small.Plan)})
	}
}

// faultsOf returns the lines in a plan that describe faults.
func faultsOf(plan string) (faults []string) {
	for _, line := range strings.Split(strings.TrimSpace(plan), "\n") {
		if word, _, _ := strings.Cut(line, " "); !slices.Contains([]string{"#", "scenario", "seed"}, word) {
			faults = append(faults, line)
		}
	}
	return faults
}

// write writes the results to testdata, replacing the client's previous results.
func (m *matrix) write(t *testing.T) {
	t.Helper()
	was, err := read(m.client)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll("testdata", 0o777)
	}
	for _, f := range was.Findings {
		err = errors.Join(err, os.RemoveAll(filepath.Join("testdata", f.Name)))
	}
	for name, small := range m.smallest {
		err = errors.Join(err, small.Save(filepath.Join("testdata", name)))
	}
	text, wrong := json.MarshalIndent(m.Result, "", " ")
	err = errors.Join(err, wrong, os.WriteFile(file(m.client), append(text, '\n'), 0o666))
	if err != nil {
		t.Fatal(err)
	}
}

func file(client string) string { return filepath.Join("testdata", client+".json") }

func read(client string) (r Result, err error) {
	text, err := os.ReadFile(file(client))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// findingTest returns the name of the test that replays a finding: the package's TestFindings calls Replay.
func findingTest(finding string) string { return "TestFindings/" + finding }

// repeated matches the part of a plan's comment that says how to repeat the run.
var repeated = regexp.MustCompile(`repeat [^;]*with: .*; the run's digest`)

// NamesItsCommand checks that the comment of the plan in a folder says how to repeat the run with a test. With -update,
// it corrects the comment, and does not repeat the search that found the plan.
func NamesItsCommand(t *testing.T, folder, test string) {
	t.Helper()
	file := filepath.Join(folder, search.PlanFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	command := "repeat " + search.FromThere + locktest.ReplayCommand(test, folder) + "; the run's digest"
	switch {
	case strings.Contains(string(text), command):
	case *testkit.Update && !underway() && repeated.Match(text):
		if err := os.WriteFile(file, repeated.ReplaceAllLiteral(text, []byte(command)), 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s does not say %q", file, command)
	}
}

// Replay replays each stored finding and checks that the run violates the same law for the same cause, and that the
// plan names the command that does this. With -v, it prints the story.
func Replay(t *testing.T, clients []Client) {
	t.Helper()
	for _, client := range clients {
		result, err := read(client.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range result.Findings {
			t.Run(f.Name, func(t *testing.T) {
				folder := filepath.Join("testdata", f.Name)
				NamesItsCommand(t, folder, findingTest(f.Name))
				c := client.Config
				c.Replay, c.Laws = filepath.Join(folder, search.PlanFile), []checker.Law{f.Law}
				r, ok := locktest.Explore(t, c)
				if !ok {
					return
				}
				at := slices.IndexFunc(r.Breaches, func(b locktest.Breach) bool {
					return b.Law == f.Law && b.Cause == f.Cause
				})
				if at < 0 {
					t.Fatalf("it broke %+v", r.Breaches)
				}
				t.Log(r.Breaches[at].Story)
			})
		}
	}
}
