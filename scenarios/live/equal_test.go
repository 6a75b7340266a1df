//go:build linux && amd64

package live

import (
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/sim/traced"
)

// equalVariable is an environment variable that makes a process of the test binary print a command's runs. Its value is
// the number of seeds.
const equalVariable = "FENCEPOST_TEST_EQUAL"

// equalCommand is the environment variable for the command whose runs are compared.
const equalCommand = "FENCEPOST_TEST_COMMAND"

// onOne, onCluster and onThree are the scenarios for the runs that are compared.
const (
	onOne     = "name: one\nservers: {redis: 1}\nlock: {protocol: set-nx-px, ttl: 3s}\nwork: {hold: 1s}\n"
	onCluster = "name: cluster\nservers: {redis: 3, replicas: 1, cluster: on, node-timeout: 1s}\n" +
		"lock: {protocol: set-nx-px, ttl: 3s}\nwork: {hold: 1s}\n"
	onThree = "name: three\nservers: {redis: 3}\nlock: {protocol: redlock, ttl: 3s}\nwork: {compute: 4s}\n"
)

// TestEqualSeedsGiveEqualRunsInEachLanguage checks that runs with the same seed make the same calls under random
// faults, three times in each of two processes. If they do not, the error names the first call
// that differs.
func TestEqualSeedsGiveEqualRunsInEachLanguage(t *testing.T) {
	testkit.ThoroughOnly(t)
	if n, err := strconv.Atoi(os.Getenv(equalVariable)); err == nil {
		printRuns(t, os.Getenv(equalCommand), n)
		return
	}
	if err := traced.Allowed(); err != nil {
		testkit.Lacks(t, err)
	}
	at := func(path ...string) string {
		whole, err := filepath.Abs(filepath.Join(path...))
		if err != nil {
			t.Fatal(err)
		}
		return whole
	}
	built := t.TempDir()
	build := func(dir, command string, args ...string) {
		c := exec.Command(command, args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			testkit.Lacks(t, fmt.Errorf("%s: %w\n%s", command, err, out))
		}
	}
	exists := func(path string) func() {
		return func() {
			if _, err := os.Stat(path); err != nil {
				testkit.Lacks(t, err)
			}
		}
	}
	for _, c := range []struct {
		name, command   string
		everyday, seeds int
		prepare         func()
	}{
		{"python with threads", python + " " + at("testdata", "threads.py"), 1, 200, nil},
		{"python with asyncio", python + " " + at("testdata", "tasks.py"), 1, 200, nil},
		{"static Go", filepath.Join(built, "redsync"), 0, 200, func() {
			build(at("workers", "redsync"), "go", "build", "-o", filepath.Join(built, "redsync"), ".")
		}},
		{"rust", at("workers", "redis-rs", "target", "release", "redis-rs"), 0, 200,
			exists(at("workers", "redis-rs", "target", "release", "redis-rs"))},
		{"node", "node " + at("workers", "redlock-js", "using.js"), 0, 200,
			exists(at("workers", "redlock-js", "node_modules", "redlock"))},
		{"node on a Cluster", "node " + at("workers", "redlock-js", "worker.js") + " cluster", 0, 200,
			exists(at("workers", "redlock-js", "node_modules", "redlock"))},
		{"java", "java -Xmx64m -XX:TieredStopAtLevel=1 -cp '" + at("workers", "jedis", "lib") + "/*:" + built +
			"' Worker", 0, 200, func() {
			build(at("workers", "jedis"), "javac", "-cp", "lib/*", "-d", built, "Worker.java")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			seeds := testkit.Size(c.everyday, c.everyday, c.seeds)
			if seeds == 0 {
				testkit.FullOnly(t)
			}
			if c.prepare != nil {
				c.prepare()
			}
			a, b := runsOf(t, c.command, seeds), runsOf(t, c.command, seeds)
			if a != b {
				t.Errorf("two processes differ: %s", firstDifference(a, b))
			}
			t.Logf("%d seeds, 3 times in each of 2 processes: equal calls", seeds)
		})
	}
}

// runsOf starts another process that runs a command, and returns what that process prints about the runs.
func runsOf(t *testing.T, command string, seeds int) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "-test.run=^TestEqualSeedsGiveEqualRunsInEachLanguage$", "-test.v", "-test.timeout=0")
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", equalVariable, seeds), equalCommand+"="+command)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var runs strings.Builder
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "run ") {
			runs.WriteString(line)
		}
	}
	if n := strings.Count(runs.String(), "\n"); n != seeds {
		t.Fatalf("%d runs, want %d\n%s", n, seeds, out)
	}
	return runs.String()
}

// firstEqual is the first seed of the runs that are compared. The programs are restarted at every seed that is a
// multiple of 256, so a full test, with 200 seeds, includes a restart.
const firstEqual = 156

// printRuns runs a command three times for each of several seeds. For each seed, it prints a line with a hash of the
// run's calls.
func printRuns(t *testing.T, command string, seeds int) {
	text := onOne
	if strings.HasSuffix(command, " cluster") {
		text = onCluster
	}
	if strings.Contains(command, "using.js") || strings.Contains(command, "redsync") {
		text = onThree
	}
	s, err := scenarios.Parse("runs.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewVirtual(command)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	s = s.With(v.Code())
	plans, err := search.NewPlans(s)
	if err != nil {
		t.Fatal(err)
	}
	m, err := v.hire()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for seed := range uint64(seeds) {
		plan := plans.Plan(firstEqual + seed)
		m.jobs <- func(tracer *traced.Tracer) { done <- v.printRun(s, plan, tracer) }
		if err := <-done; err != nil {
			t.Errorf("seed %d: %v\n%s", plan.Seed, err, plan)
		}
	}
	v.idle = append(v.idle, m)
}

// printRun performs the same run three times and prints a line about it.
func (v *Virtual) printRun(s *scenarios.Scenario, p nemesis.Plan, t *traced.Tracer) error {
	first, err := v.run(s, p, scenarios.Wanted{}, t, true)
	if err != nil {
		return err
	}
	for range 2 {
		if err := v.rerun(s, p, false, t, first); err != nil {
			return err
		}
	}
	h := fnv.New64a()
	for _, c := range first.calls {
		fmt.Fprintln(h, c.String())
	}
	_, err = fmt.Printf("run %d: %d calls %x, digest %x\n", p.Seed, len(first.calls), h.Sum64(), uint64(first.Digest))
	return err
}

// firstDifference returns the first line in which two strings differ.
func firstDifference(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range left {
		if i >= len(right) || left[i] != right[i] {
			return fmt.Sprintf("%s, and %s", left[i], strings.Join(right[min(i, len(right)):min(i+1, len(right))], ""))
		}
	}
	return "one is longer"
}
