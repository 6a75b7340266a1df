package task

import (
	"errors"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// storedLock returns a scenario with the given protocol, whose random faults are pauses of the given lengths.
func storedLock(protocol, pause string) string {
	return "name: stored\nservers: {redis: 1}\nclients: 2\nlock: {protocol: " + protocol + ", ttl: 5s}\n" +
		"work: {hold: 1s, writes: 1}\nmix: {weights: {pause: 1}, pause: " + pause + "}\npromise: [mutual-exclusion]\n"
}

// store explores a scenario whose clients' code has the given origin, and stores the result in a folder.
func store(t *testing.T, o scenarios.Origin, pause string) (dir string) {
	t.Helper()
	plain, err := scenarios.Parse("plain.yaml", []byte(storedLock("set-nx-px", pause)))
	if err != nil {
		t.Fatal(err)
	}
	code := &scenarios.Code{Origin: o,
		Elsewhere: func(_ *scenarios.Scenario, p nemesis.Plan, _ scenarios.Wanted) (scenarios.Result, error) {
			return scenarios.NewRunner(plain).Run(p)
		}}
	protocol := "library"
	if o.Client != "" {
		code.Programs, protocol = sim.Points, "set-nx-px"
	}
	s, err := scenarios.ParseWith("stored.yaml", []byte(storedLock(protocol, pause)), code)
	if err != nil {
		t.Fatal(err)
	}
	x := Exploration{Scenario: s, Found: searched(t, s, 20)}
	prepared(t, &x)
	x.Save()
	return x.Out
}

// TestAStoredSearchWithoutFindingsIsReportedWithoutItsClients checks that an exploration without findings can be
// reported where its clients cannot be run. The command that repeats it names them.
func TestAStoredSearchWithoutFindingsIsReportedWithoutItsClients(t *testing.T) {
	for want, o := range map[string]scenarios.Origin{
		"--client 'a worker' --seed 1 --seeds 20": {Client: "a worker"},
		" explore lock --run TestLock --seed 1":   {Package: "example.com/lock", Test: "TestLock", Folder: "lock"},
	} {
		dir := store(t, o, "1ms..2ms")
		r, err := ReadResult(dir, ExplorationFile)
		if err != nil {
			t.Fatal(err)
		}
		s, g, err := new(StoredCode).Open(dir, r)
		if err != nil {
			t.Fatal(err)
		}
		x := Exploration{Scenario: s, Test: g, Found: r}
		out := prepared(t, &x)
		conclude(t, &x)
		if shown := strings.Join(strings.Fields(strings.ReplaceAll(out.String(), "\\\n", "")), " "); !strings.Contains(
			shown, want) || !strings.Contains(shown, "promises kept") {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestTheFlagsForAStoredSearchAreNamed opens stored searches without the code of their clients. No run is possible
// then, and the error must name the flags that are missing.
func TestTheFlagsForAStoredSearchAreNamed(t *testing.T) {
	for want, o := range map[string]scenarios.Origin{
		"add --client 'a worker'": {Client: "a worker"},
		"add --client 'w REDIS_PASSWORD=…', with the passwords in place of": {Client: "w REDIS_PASSWORD=…"},
		"add --package ./lock --run TestLock": {Package: "example.com/lock", Test: "TestLock",
			Folder: "./lock"},
	} {
		dir := store(t, o, "6s..9s")
		r, err := ReadResult(dir, ExplorationFile)
		if err != nil || len(r.Findings) == 0 {
			t.Fatal(err, "no findings")
		}
		s, g, err := new(StoredCode).Open(dir, r)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Missing(); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), dir+" holds the results of "+o.String()) {
			t.Errorf("%v\nwant %s", err, want)
		}
		if _, err := scenarios.NewRunner(s).Run(s.Plan(1)); !errors.Is(err, g.Missing()) {
			t.Errorf("a run ends with %v", err)
		}
	}
}

// TestAStoredSearchOfAnEarlierVersionNeedsFlags checks the error for records that do not name their clients, although
// these were programs or a Go test.
func TestAStoredSearchOfAnEarlierVersionNeedsFlags(t *testing.T) {
	dir := store(t, scenarios.Origin{}, "6s..9s")
	r, err := ReadResult(dir, ExplorationFile)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = new(StoredCode).Open(dir, r)
	const want = "add --client CMD; if they were a Go test, add --package FOLDER --run TEST"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
	r.Identity.Text = "0"
	if _, _, err = new(StoredCode).Open(dir, r); err == nil || strings.HasSuffix(err.Error(), want) {
		t.Errorf("another text: %v", err)
	}
}

// TestFlagsOfAStoredSearchThatContradictEachOther checks that incomplete and contradictory flags are refused.
func TestFlagsOfAStoredSearchThatContradictEachOther(t *testing.T) {
	for want, c := range map[string]StoredCode{
		"give one of them":            {Client: "worker", Package: "lock", Test: "TestLock"},
		"--client and --package name": {Client: "worker", Test: "TestLock"},
		"--run TestLock needs":        {Test: "TestLock"},
		"--package lock needs --run":  {Package: "lock"},
	} {
		if _, _, err := c.Open("nowhere", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
