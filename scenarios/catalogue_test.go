package scenarios

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// seedsPerScenario returns the number of seeds with which each scenario in the catalog must have the expected outcome.
func seedsPerScenario() int {
	if testkit.Race {
		return 2
	}
	return testkit.Size(1, 4, 1000)
}

func TestCatalogueComesOutAsListed(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := named(t, name)
			c := campaign(t, s, seedsPerScenario())
			for _, g := range c.Groups {
				t.Errorf("%s, in %d of %d runs, first with seed %d", g, g.Runs, c.Seeds, g.First)
			}
			if c.Undecided > 0 {
				t.Errorf("undecided in %d runs", c.Undecided)
			}
			if c.Digests() < c.Seeds*99/100 {
				t.Errorf("%d seeds gave only %d different runs", c.Seeds, c.Digests())
			}
			if len(s.Expect.Laws) == 0 || s.Summary == "" || s.Source == "" {
				t.Error("every scenario of the catalogue has expectations, a summary and a source")
			}
		})
	}
}

func named(t *testing.T, name string) *Scenario {
	t.Helper()
	s, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asWritten is a run of a scenario with its own faults and seed 1, and the checker's verdict on it.
type asWritten struct {
	scenario *Scenario
	result   Result
	verdict  checker.Verdict
}

func runAsWritten(t *testing.T, s *Scenario) *asWritten {
	t.Helper()
	result, err := NewRunner(s).Run(s.Plan(1))
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return &asWritten{s, result, checker.Check(result.History)}
}

// writtenRuns contains the runs that catalogueAsWritten has performed, by scenario name.
var writtenRuns = map[string]*asWritten{}

// catalogueAsWritten returns the run of one of the catalog's scenarios as written. It runs each scenario only once for
// all tests, so the tests must not be parallel.
func catalogueAsWritten(t *testing.T, name string) *asWritten {
	t.Helper()
	if writtenRuns[name] == nil {
		writtenRuns[name] = runAsWritten(t, named(t, name))
	}
	return writtenRuns[name]
}

func campaign(t *testing.T, s *Scenario, seeds int) *format.Campaign {
	t.Helper()
	var c format.Campaign
	r := NewRunner(s)
	for seed := range uint64(seeds) {
		result, err := r.Run(s.Plan(seed + 1))
		if err != nil {
			t.Fatal(err)
		}
		judged := s.Judge(result)
		c.Add(result.Plan.Seed, result.Digest, judged)
		f := judged.Verdict.Of(checker.MutualExclusion)
		if f.Outcome != checker.Unchecked && f.Judges.Porcupine < checker.Allowed {
			t.Errorf("seed %d: mutual exclusion is judged by the %s", seed+1, f.Judges.Alone())
		}
	}
	return &c
}

func TestCatalogueIsWhatIsEmbedded(t *testing.T) {
	var embedded []string
	for _, folder := range folders {
		files, err := catalogueFiles.ReadDir(strings.TrimSuffix(folder, "/"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if name, isFile := strings.CutSuffix(f.Name(), ".yaml"); isFile {
				embedded = append(embedded, name)
			}
		}
	}
	slices.Sort(embedded)
	listed := slices.Sorted(slices.Values(Names()))
	if !slices.Equal(embedded, listed) {
		t.Errorf("embedded %v\nlisted %v", embedded, listed)
	}
	for _, name := range listed {
		if s := named(t, name); s.Name != name {
			t.Errorf("%s.yaml calls itself %s", name, s.Name)
		}
	}
}

func TestAScenarioThatTheCatalogueLacksIsAnError(t *testing.T) {
	for _, name := range []string{"", "no-such-scenario", "kleppmann-gc-pause.yaml",
		"../testdata/delayed-restart-worst-case"} {
		if s, err := Named(name); s != nil || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v, %v", name, s, err)
		}
	}
}

// twins lists pairs of a broken and a sound scenario that differ in one line.
var twins = [][2]string{
	{"del-by-slow-client", "lua-release-by-slow-client"},
	{"fenced-everysec", "fenced-fsync-always"},
	{"no-elapsed-check", "pause-while-acquiring"},
	{"wall-clock-client", "monotonic-client"},
	{"no-drift-allowance", "drift-allowance"},
	{"restart-forgets", "restart-fsync-always"},
	{"restart-everysec", "restart-fsync-always"},
	{"restart-everysec", "clean-restart"},
	{"restart-forgets", "delayed-restart"},
	{"delayed-restart-too-short", "delayed-restart"},
	{"split-vote-fixed-delay", "split-vote-random-delay"},
}

func TestTwinsDifferInOneLine(t *testing.T) {
	for _, pair := range twins {
		broken, sound := situation(t, pair[0]), situation(t, pair[1])
		if len(broken) != len(sound) {
			t.Errorf("%s has %d lines, its twin %s %d", pair[0], len(broken), pair[1], len(sound))
			continue
		}
		var differ []string
		for i := range broken {
			if broken[i] != sound[i] {
				differ = append(differ, strings.TrimSpace(broken[i])+" / "+strings.TrimSpace(sound[i]))
			}
		}
		if len(differ) != 1 {
			t.Errorf("%s and %s differ in %d lines: %q", pair[0], pair[1], len(differ), differ)
		}
	}
}

// situation returns a scenario's lines between "servers:" and "expect:", that is, without its name, summary and
// expectations.
func situation(t *testing.T, name string) []string {
	t.Helper()
	_, text, err := fileOf(name)
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(string(text), "\nservers:")
	body, _, ends := strings.Cut(body, "\nexpect:\n")
	if !found || !ends {
		t.Fatalf("%s: servers and expect must stand around the situation", name)
	}
	return strings.Split(body, "\n")
}
