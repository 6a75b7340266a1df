package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// lockPackage is a package that contains tests for a lock written in Go.
const lockPackage = "../../scenarios/locktest"

func TestAPackagesTestIsAScenario(t *testing.T) {
	testkit.FullOnly(t) // the test builds test binaries
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir()) // a temporary folder for this test alone
	plan := filepath.Join(dir, "cut.txt")
	if err := os.WriteFile(plan, []byte("scenario a lock\nseed 1\ncut client-2 | redis-1 at 9ms for 300ms\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		exit int
		want []string
	}{
		{[]string{"explore", lockPackage, "-run", "TestALockThatHoldsItsLease", "--seeds", "30", "--out",
			filepath.Join(dir, "held")}, exitExpected,
			[]string{"30 random plans from 1", "promises kept",
				"explore " + lockPackage + " --run TestALockThatHoldsItsLease --seed 1 --seeds 30"}},
		{[]string{"explore", lockPackage, "--run", "TestALockThatDeletesWhoeverHoldsIt", "--seeds", "30", "--workers",
			"2", "--out", filepath.Join(dir, "lost")},
			exitOtherwise, []string{"promise broken", "ownership: removed by non-owner",
				"go test -C " + lockPackage + " -run '^TestALockThatDeletesWhoeverHoldsIt$' -locktest.plan"}},
		{[]string{"explore", lockPackage, "--run", "TestALockThatPanicsUnderSomeFaults", "--seeds", "20", "--out",
			filepath.Join(dir, "some")}, exitUndecided,
			[]string{"of 20 runs could not be judged: the lock's own code failed, first with seed",
				"Lock of client-", "panic: the server is gone", "run_test.go"}},
		{[]string{"run", lockPackage, "--run", "TestALockThatPanicsUnderSomeFaults", "--seeds", "20", "--plan",
			plan, "--html", filepath.Join(dir, "many.html"), "--out", filepath.Join(dir, "many")}, exitUndecided,
			[]string{"of 20 runs could not be judged: the lock's own code failed, first with seed",
				"panic: the server is gone", "run_test.go"}},
		{[]string{"run", lockPackage, "--run=TestALockThatHoldsItsLease", "--seed", "3", "--out",
			filepath.Join(dir, "one")}, exitExpected,
			[]string{"client-1 inside for 4.00 s", "seed 3, digest "}},
		{[]string{"run", lockPackage, "--run", "TestALockThatHoldItsLease"}, exitBadInput,
			[]string{`has no test TestALockThatHoldItsLease (did you mean "TestALockThatHoldsItsLease"?)`}},
		{[]string{"run", lockPackage}, exitBadInput, []string{"is a Go package: name one of its tests with --run"}},
		{[]string{"run", "kleppmann-gc-pause", "--run", "TestX"}, exitBadInput,
			[]string{"kleppmann-gc-pause is not a folder with a Go package"}},
		{[]string{"run", dir, "--run", "TestX"}, exitBadInput, []string{"go test -c in " + dir}},
	} {
		var out, problems bytes.Buffer
		exit := run(c.args, &out, &problems)
		text := strings.Join(strings.Fields(strings.ReplaceAll(out.String()+problems.String(), "\\\n", "")), " ")
		if exit != c.exit {
			t.Errorf("%v: exit %d, want %d\n%s%s", c.args, exit, c.exit, out.String(), problems.String())
		}
		for _, want := range c.want {
			if !strings.Contains(text, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%v: %q is not in\n%s%s", c.args, want, out.String(), problems.String())
			}
		}
	}
	if left, err := os.ReadDir(os.TempDir()); len(left) > 0 || err != nil {
		t.Errorf("%v are left: %v", left, err)
	}
}

// TestShardsOfAGoTestAreMerged explores locks from a Go package in shards and merges them. Their findings are shrunk,
// so the test must be named, and the error says how.
func TestShardsOfAGoTestAreMerged(t *testing.T) {
	testkit.FullOnly(t) // the test builds test binaries
	dir := t.TempDir()
	call := func(args ...string) (exit int, shown string) {
		var out, problems bytes.Buffer
		exit = run(args, &out, &problems)
		return exit, strings.Join(strings.Fields(strings.ReplaceAll(out.String()+problems.String(), "\\\n", "")), " ")
	}
	const sound, broken = "TestALockThatHoldsItsLease", "TestALockThatDeletesWhoeverHoldsIt"
	at := func(test, part string) string { return filepath.Join(dir, test+part) }
	for _, test := range []string{sound, broken} {
		for _, part := range []string{"1", "2"} {
			if exit, shown := call("explore", lockPackage, "--run", test, "--seeds", "30", "--shard", part+"/2",
				"--out", at(test, part)); exit == exitBadInput {
				t.Fatal(shown)
			}
		}
	}
	for _, c := range []struct {
		one, two, flags string
		exit            int
		want            string
	}{
		{sound, sound, "--package " + lockPackage + " --run " + sound, exitExpected, "explore " + lockPackage +
			" --run " + sound + " --seed 1 --seeds 30"},
		{broken, broken, "", exitBadInput, "further runs: add --package " + lockPackage + " --run " + broken},
		{broken, broken, "--package " + lockPackage + " --run " + broken, exitOtherwise,
			"go test -C " + lockPackage + " -run '^" + broken + "$' -locktest.plan"},
		{broken, broken, "--package " + lockPackage + " --run " + sound, exitBadInput, "holds the results of the " +
			"test " + broken + " of the Go package github.com/fencepost-sim/fencepost/scenarios/locktest, not of the " +
			"test " + sound},
	} {
		args := append([]string{"merge", at(c.one, "1"), at(c.two, "2"), "--out", at(c.one, "")},
			strings.Fields(c.flags)...)
		if exit, shown := call(args...); exit != c.exit || !strings.Contains(shown, c.want) {
			t.Errorf("%q: exit %d, want %d and %q\n%s", args, exit, c.exit, c.want, shown)
		}
	}
}
