package locktest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// asked is the environment variable that makes the test binary run the tests whose output is checked in this file.
const asked = "FENCEPOST_LOCKTEST_FLAGS"

// TestOfFlags stands in for a user's test of a broken lock: it fails.
func TestOfFlags(t *testing.T) {
	if os.Getenv(asked) == "" {
		t.Skip("it is run by TestFlags")
	}
	Run(t, Config{New: newCareless, Seeds: 22, Faults: Pauses, Laws: []checker.Law{checker.Ownership}, SkipTrial: true})
}

// form is a flag that a user's test might define.
var form = flag.String("form", "", "which subtest TestOfOwnFlags has")

// TestOfOwnFlags has a subtest that is named after a flag or the process ID. In the latter case, a worker process
// cannot find the subtest.
func TestOfOwnFlags(t *testing.T) {
	if os.Getenv(asked) == "" {
		t.Skip("it is run by TestAUsersFlagsReachTheProcessesOfTheRuns")
	}
	name := *form
	if name == "process" {
		name = fmt.Sprint(os.Getpid())
	}
	t.Run(name, func(t *testing.T) { Run(t, Config{New: newPlain, Seeds: 3, Plan: []string{}}) })
}

func TestAUsersFlagsReachTheProcessesOfTheRuns(t *testing.T) {
	if os.Getenv(asked) != "" || os.Getenv(environment) != "" {
		return
	}
	const other = "its process ended before it reached this call to locktest in TestOfOwnFlags/"
	for name, want := range map[string]string{"zset": "of-own-flags-zset  3 runs", "process": other} {
		text, failed := goTest(t, t.TempDir(), "-test.v", "-test.run=^TestOfOwnFlags$", "-form", name)
		if !strings.Contains(text, want) || failed != (name == "process") || strings.Contains(text, "<nil>") {
			t.Errorf("%s: %q is not in\n%s", name, want, text)
		}
	}
}

// FuzzOfFlags is a fuzz target that runs a lock.
func FuzzOfFlags(f *testing.F) {
	f.Add(2)
	f.Fuzz(func(t *testing.T, clients int) {
		if r, ok := Explore(t, Config{New: newPlain, Clients: clients, Seeds: 1}); ok && r.Runs != 1 {
			t.Errorf("%d runs", r.Runs)
		}
	})
}

// goTest runs this test binary again in its own folder and returns its output.
func goTest(t *testing.T, folder string, args ...string) (text string, failed bool) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), asked+"=1")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err != nil
}

// TestFlags checks that go test's flags work, and that the commands printed with a failure reproduce it.
func TestFlags(t *testing.T) {
	if os.Getenv(asked) != "" || os.Getenv(environment) != "" {
		return
	}
	folder := t.TempDir()
	first, failed := goTest(t, folder, "-test.run=^TestOfFlags$")
	for _, want := range []string{"22 runs", "ownership is violated", "--- FAIL: TestOfFlags/seed="} {
		if !failed || !strings.Contains(first, want) {
			t.Errorf("it failed: %v; %q is not in\n%s", failed, want, first)
		}
	}
	seed := regexp.MustCompile(`again   go test -run '(\^TestOfFlags\$/\^seed=\d+\$)' \.`).FindStringSubmatch(first)
	plan := regexp.MustCompile(`go test -run '(\^TestOfFlags\$)' -locktest.plan (\S+) \.`).FindStringSubmatch(first)
	if seed == nil || plan == nil {
		t.Fatalf("no command repeats it:\n%s", first)
	}
	saved, err := os.ReadFile(filepath.Join(folder, plan[2]))
	if err != nil || !strings.Contains(string(saved), " with: "+plan[0]+"; the run's digest is ") {
		t.Errorf("the plan does not name the test: %v\n%s", err, saved)
	}
	for name, c := range map[string]struct {
		args   []string
		want   []string
		passes bool
	}{
		"-v": {[]string{"-test.v", "-test.run=^TestOfFlags$"},
			[]string{"=== RUN   TestOfFlags/seed=", "22 runs"}, false},
		"-short": {[]string{"-test.short", "-test.run=^TestOfFlags$"}, []string{"20 runs"}, false},
		"-run with a seed": {[]string{"-test.run=" + seed[1]},
			[]string{"1 run ", "ownership is violated", "in 1 of 1 run"}, false},
		"-run with a seed that holds": {[]string{"-test.v", "-test.run=^TestOfFlags$/^seed=1$"},
			[]string{"1 run ", "--- PASS: TestOfFlags/seed=1 ", "of-flags  seed 1 ", "client-1 inside for "}, true},
		"-locktest.plan": {[]string{"-test.run=" + plan[1], "-locktest.plan=" + plan[2]},
			[]string{"1 run ", "ownership is violated"}, false},
		"-locktest.plan without a file": {[]string{"-test.run=^TestOfFlags$", "-locktest.plan=none.txt"},
			[]string{"locktest: the plan to run: open none.txt"}, false},
		"-timeout": {[]string{"-test.run=^TestOfFlags$", "-test.timeout=1ns"},
			[]string{"panic: test timed out"}, false},
		"-fuzz": {[]string{"-test.run=^$", "-test.fuzz=^FuzzOfFlags$", "-test.fuzztime=1x", "-test.parallel=1",
			"-test.fuzzcachedir=" + filepath.Join(folder, "cache")}, []string{"locktest: Run cannot be fuzzed"}, false},
		"the seed corpus": {[]string{"-test.v", "-test.run=^FuzzOfFlags$"},
			[]string{"--- PASS: FuzzOfFlags/seed#0"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 4)
			text, failed := goTest(t, folder, c.args...)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%v: %q is not in\n%s", c.args, want, text)
				}
			}
			if failed == c.passes {
				t.Errorf("%v: it failed: %v\n%s", c.args, failed, text)
			}
		})
	}
	if !testkit.Thorough() {
		return
	}
	twice, _ := goTest(t, folder, "-test.count=2", "-test.run="+seed[1])
	if n := strings.Count(twice, "of-flags  1 run "); n != 2 {
		t.Errorf("-count=2 made %d calls\n%s", n, twice)
	}
}

// TestTheTimeThatTimeoutGivesEndsTheRuns checks that the runs end some time before -timeout would end the test, so that
// the test can still report.
func TestTheTimeThatTimeoutGivesEndsTheRuns(t *testing.T) {
	over := time.Now().Add(-time.Second)
	p := examine(t, Config{New: newPlain, Seeds: 5, SkipTrial: true, deadline: &over})
	if p == nil {
		return
	}
	want := "the time limit set by -timeout was reached: 0 of 5 runs were made"
	if len(p.runs) != 0 || len(p.problems) != 1 || p.problems[0] != want {
		t.Errorf("%d runs, %q", len(p.runs), p.problems)
	}
	if small, why := p.shrink(group{first: ran{Seed: 1}}); small != nil ||
		why != "the time limit set by -timeout was reached" {
		t.Errorf("%v, %q", small, why)
	}
}

// TestTestsAtTheSameTime checks that explorations in parallel do not disturb each other: each one gives the same runs
// when it is repeated.
func TestTestsAtTheSameTime(t *testing.T) {
	for _, name := range []string{"one", "two", "three"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seeds := testkit.Size(2, 6, 6)
			first, ok := Explore(t, Config{New: newPlain, Seeds: seeds})
			again, _ := Explore(t, Config{New: newPlain, Seeds: seeds})
			if !ok {
				return
			}
			for seed, digest := range first.Digests() {
				if again.Digests()[seed] != digest {
					t.Errorf("seed %d: %x, then %x", seed, digest, again.Digests()[seed])
				}
			}
			if first.Runs != seeds || len(first.Failures) > 0 || len(first.DifferingSeeds) > 0 {
				t.Errorf("%+v", first)
			}
		})
	}
}

// TestCoverageCountsTheProcessesOfTheRuns checks that code that runs only in worker processes counts as covered.
func TestCoverageCountsTheProcessesOfTheRuns(t *testing.T) {
	testkit.FullOnly(t) // builds a test binary with coverage
	if os.Getenv(environment) != "" {
		return
	}
	profile := filepath.Join(t.TempDir(), "cover.out")
	text, err := exec.Command("go", "test", "-run", "^TestALockThatHoldsItsLease$", "-short", "-coverprofile", profile,
		".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	lines, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`locktest/worker\.go:\d+\.\d+,\d+\.\d+ \d+ [1-9]`).Match(lines) {
		t.Errorf("nothing of worker.go is covered\n%s", text)
	}
}
