package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/queue"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// lockPackage is a package outside this module that contains a Go lock.
const lockPackage = "../../scenarios/locktest"

// The campaign sends a package's test binary to the workers, which use it to explore the package.
func TestAPackageTravelsAsItsTestBinary(t *testing.T) {
	t.Parallel()
	testkit.FullOnly(t) // the test builds test binaries
	here, err := filepath.Abs(lockPackage)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []string{"TestALockThatHoldsItsLease", "TestALockThatDeletesWhoeverHoldsIt",
		"TestALockThatPanicsUnderSomeFaults"} {
		want, files := inOneProcess(t, "explore", here, "--run", test, "--seeds", "40")
		dir := t.TempDir()
		got := call(t, campaignOf(t, dir, "run", here, "--run", test, "--seeds", "40", "--out", "x", "--patience",
			"2s"))
		if got.out != want.out || got.code != want.code {
			t.Errorf("%s: exit %d\n%s%s\nwant %d\n%s", test, got.code, got.out, got.problems, want.code, want.out)
		}
		same(t, filesIn(t, filepath.Join(dir, "x")), files)
	}
}

// A campaign gets the same result for the corpus as a single process, except for how long each mutant took.
func TestTheCorpusIsThatOfOneProcess(t *testing.T) {
	t.Parallel()
	args := []string{"--seeds", "2", "--starts", "2", "--unaimed", "--json"}
	if testkit.Full() {
		args = []string{"--seeds", "500", "--starts", "3", "--sound", "400", "--json"}
	}
	want, files := inOneProcess(t, append([]string{"corpus"}, args...)...)
	dir := t.TempDir()
	got := call(t, campaignOf(t, dir, append([]string{"run", "--corpus", "--out", "x", "--patience", "2s"},
		args...)...))
	timeless := func(text string) string {
		var d map[string]any
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, m := range d["mutants"].([]any) {
			delete(m.(map[string]any), "took_ns")
			delete(m.(map[string]any), "elapsed_ns")
		}
		b, err := json.MarshalIndent(d, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if a, b := timeless(got.out), timeless(want.out); a != b || got.code != want.code {
		t.Errorf("exit %d\n%.3000s%s\nwant %d\n%.3000s", got.code, a, got.problems, want.code, b)
	}
	same(t, filesIn(t, filepath.Join(dir, "x")), files)
}

// Sweeps, advice and comparisons can be divided among workers, just like explorations. The report and the files are the
// same as from a single process.
func TestOtherWorkIsThatOfOneProcess(t *testing.T) {
	t.Parallel()
	calls := [][]string{{"sweep", "delayed-restart", "--vary", "restart=8s..12s/2s", "--seeds", "3",
		"--edge-seeds", "9", "--resolution", "100ms", "--assert", "lease-exclusion holds when restart >= ttl"}}
	if testkit.Thorough() {
		calls = append(calls, []string{"advise", "no-elapsed-check", "--seeds", "2"},
			[]string{"compare", "--seeds", "1"})
	}
	for _, args := range calls {
		command := args[0]
		one := args
		if command == "advise" {
			one = append(slices.Clone(args), "--cpu", "0")
		}
		want, files := inOneProcess(t, one...)
		dir := t.TempDir()
		got := call(t, campaignOf(t, dir, append([]string{"run", "--" + command, "--out", "x", "--patience", "2s"},
			args[1:]...)...))
		if got.out != want.out || got.code != want.code {
			t.Errorf("%s: exit %d\n%s%s\nwant %d\n%s%s", command, got.code, got.out, got.problems, want.code, want.out,
				want.problems)
		}
		same(t, filesIn(t, filepath.Join(dir, "x")), files)
	}
}

// A campaign over several scenarios reports each of them as if it had been searched alone, in its own folder.
func TestSeveralScenariosAreReportedEach(t *testing.T) {
	t.Parallel()
	dir, one := t.TempDir(), t.TempDir()
	names := []string{"fenced-gc-pause", "kleppmann-gc-pause", "delayed-restart"}
	got := call(t, campaignOf(t, dir, append([]string{"run", "--seeds", "70", "--out", "x", "--patience", "2s"},
		names...)...))
	want := outcome{}
	for _, name := range names {
		alone := call(t, program(t, one, "fencepost", "explore", name, "--seeds", "70", "--out", filepath.Join("x",
			name)))
		want.out += alone.out
		want.code = max(want.code, alone.code)
	}
	if got.out != want.out || got.code != want.code {
		t.Errorf("exit %d\n%s%s\nwant %d\n%s", got.code, got.out, got.problems, want.code, want.out)
	}
	same(t, filesIn(t, filepath.Join(dir, "x")), filesIn(t, filepath.Join(one, "x")))
}

// If jobs were set aside because they crashed their workers, the message gives the jobs' seeds.
func TestWhatWasSetAsideIsNamedByItsSeeds(t *testing.T) {
	t.Parallel()
	x := &exploration{options: seeds{From: 100, Seeds: 50}}
	j := &job{order: order{Entries: []entry{{Name: "a-lock"}, {Name: "another"}}},
		subjects: []subject{x, &verification{}}}
	for want, l := range map[string]queue.Loss{
		"a-lock: seed 107":                          {Stage: "a-lock: seeds", First: 7, Size: 1},
		"a-lock: seeds 107 to 109":                  {Stage: "a-lock: seeds", First: 7, Size: 3},
		"position 7 of a-lock: cut":                 {Stage: "a-lock: cut", First: 7, Size: 1},
		"position 7 of another: parts with 1 fault": {Stage: "another: parts with 1 fault", First: 7, Size: 1},
	} {
		if got := j.positions(l); got != want {
			t.Errorf("%+v is %q, want %q", l, got, want)
		}
	}
}

// A rule ends an exploration. The report contains what has been found so far, and says why the exploration ended.
// Workers finish the seed ranges that they hold, so a rule that asks for one violation may lead to a report of several.
func TestRulesEndACampaign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keeps := strings.Replace(quick, "name: quick", "name: keeps\npromise: [ownership]", 1)
	if err := os.WriteFile(filepath.Join(dir, "keeps.yaml"), []byte(keeps), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"seeds was ended early: [1-9][0-9]* distinct violations? found": {"kleppmann-gc-pause", "--until-findings",
			"1", "--seeds", "3000"},
		"seeds was ended early: .*fewer than ": {"keeps.yaml", "--until-rate", "0.05"},
		"kleppmann-gc-pause: seeds was ended early: the time limit of 1s ": {"kleppmann-gc-pause",
			"--until-time", "1s"},
		"kleppmann-gc-pause: parts with 0 faults was ended early: the time limit of 1ns ": {"kleppmann-gc-pause",
			"--verify",
			"--until-time", "1ns"},
	} {
		got := call(t, campaignOf(t, dir, append([]string{"run", "--out", strings.Trim(args[1], "-"), "--patience",
			"2s"},
			args...)...))
		if !regexp.MustCompile(want).MatchString(got.problems) ||
			got.code != exitOtherwise && got.code != exitUndecided {
			t.Errorf("%v: exit %d\n%s\n%s", args, got.code, got.problems, got.out)
		}
	}
}

// quick is a scenario that one core runs about ten thousand times a second.
const quick = `name: quick
summary: One client takes the lock once.
servers: {redis: 1}
clients: 1
lock: {protocol: set-nx-px, ttl: 1s}
work: {cycles: 1, hold: 1ms, writes: 0}
`

// TestAFindingIsShownByAnyProcess checks that a process that only follows a campaign can show the run of a finding, as
// status --serve does. Such a process has not performed the search.
func TestAFindingIsShownByAnyProcess(t *testing.T) {
	t.Parallel()
	s, err := scenarios.Named("kleppmann-gc-pause")
	if err != nil {
		t.Fatal(err)
	}
	for _, seeds := range []string{"10", "100000"} {
		x, err := openScenario(entry{Kind: "explore", Name: s.Name, Options: []byte(`{"from":1,"seeds":` + seeds + `}`)},
			s.Text())
		if err != nil {
			t.Fatal(err)
		}
		d, err := x.story(finding{Finding: campaign.Finding{Law: checker.MutualExclusion, First: 3}})
		if err != nil {
			t.Fatal(err)
		}
		if d.Name != s.Name || d.Size != "seed 0" { // a plan aimed at a run keeps the run's seed
			t.Errorf("with %s seeds: %q, %q", seeds, d.Name, d.Size)
		}
	}
}
