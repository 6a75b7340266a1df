//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim/traced"
)

// TestWorkersInVirtualTime runs the client programs that come with live runs in virtual time. Each run is repeated, and
// the calls of both runs are compared. As in real time, a pause breaks each lock, unless the resource requires a
// fencing token. Unless this is a full run (see testkit.Full), there is one program for each language and each kind of
// server.
func TestWorkersInVirtualTime(t *testing.T) {
	const outlived = "mutual-exclusion violated: holder outlived its lease (pause)"
	met := map[string]bool{}
	for _, c := range []struct{ worker, argument, scenario, want string }{
		{"redis-py", " fenced", "fenced-gc-pause", "resource-safety holds"},
		{"redis-py-sentinel", "", "failover-loses-lock", "lease-exclusion violated: lost in failover"},
		{"redis-py-sentinel", " waits", "failover-wait", "lease-exclusion holds"},
		{"redsync", "", "kleppmann-gc-pause", outlived},
		{"redlock-js", "", "kleppmann-gc-pause", outlived},
		{"redlock-js", " cluster", filepath.Join(workers, "redlock-js", "cluster.yaml"),
			"lease-exclusion violated: lost in failover"},
		{"jedis", "", "kleppmann-gc-pause", outlived},
		{"redis-rs", "", "kleppmann-gc-pause", outlived},
		{"kazoo", "", "zookeeper-pause", outlived},
		{"kazoo", " fenced", "zookeeper-pause-fenced", "resource-safety holds"},
		{"curator", "", "zookeeper-pause", outlived},
		{"python-etcd3", "", "etcd-lease-pause", outlived},
		{"python-etcd3", " fenced", "etcd-lease-pause-fenced", "resource-safety holds"},
		{"client-go", "", "kubernetes-leader-pause", outlived},
		{"client-go", " fenced", "kubernetes-leader-pause-fenced", "resource-safety holds"},
		{"client-go", " releases", "kubernetes-handover-released", "mutual-exclusion holds"},
		{"client-go", " releases patient", "kubernetes-release-held-up",
			"mutual-exclusion violated: holder outlived its lease"},
	} {
		another := met[c.worker] || c.worker == "curator"
		met[c.worker] = true
		t.Run(c.worker+c.argument, func(t *testing.T) {
			testkit.ThoroughOnly(t) // every day, the program of VIRTUAL.md runs in virtual time
			if another {            // one client for each language and kind of server has been tested already
				testkit.FullOnly(t)
			}
			if err := traced.Allowed(); err != nil {
				testkit.Lacks(t, err)
			}
			command := strings.TrimPrefix(workerCommand(t, c.worker), "exec ") + c.argument
			const twice = 32 // a run is made twice if its seed is one more than a multiple of this number
			for n := range testkit.Size(1, 1, 30) {
				seed := strconv.Itoa(1 + twice*n)
				var out, problems bytes.Buffer
				code := run([]string{"run", c.scenario, "--client", command, "--seed", seed, "--out",
					filepath.Join(t.TempDir(), "out")}, &out, &problems)
				shown := strings.Join(strings.Fields(out.String()), " ")
				if code != exitExpected || !strings.Contains(shown, c.want) {
					t.Errorf("seed %s: exit %d, and no %q:\n%s%s", seed, code, c.want, out.String(), problems.String())
				}
			}
		})
	}
}

// TestTheTimeOutOfRequestsSavesClientGo runs a scenario in which a reply arrives late. Two clients that use client-go
// are leaders at the same time only if their requests have no timeout. The worker is not told when client-go renews its
// lease, so the lease that it reports does not overlap another one.
func TestTheTimeOutOfRequestsSavesClientGo(t *testing.T) {
	testkit.ThoroughOnly(t)
	if err := traced.Allowed(); err != nil {
		testkit.Lacks(t, err)
	}
	command := workerCommand(t, "client-go")
	for argument, want := range map[string]string{"": "mutual-exclusion holds",
		" patient": "mutual-exclusion violated: holder outlived its lease"} {
		var out, problems bytes.Buffer
		run([]string{"run", "kubernetes-answer-held-up", "--client", command + argument, "--out",
			filepath.Join(t.TempDir(), "out")}, &out, &problems)
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%q: no %q:\n%s%s", argument, want, out.String(), problems.String())
		}
	}
}

// pageOfVirtualTime reads the VIRTUAL.md page. It writes the page's worker, scenario and plan to a folder, and returns
// the command that starts the worker and the report shown on the page. If the machine lacks something that the worker
// needs, the test is skipped or fails (see testkit.Lacks).
func pageOfVirtualTime(t *testing.T) (dir, command, report string) {
	t.Helper()
	if err := traced.Allowed(); err != nil {
		testkit.Lacks(t, err)
	}
	workerCommand(t, "redis-py") // the page's worker has the same dependencies as this one
	page := readFrom(t, "scenarios/live/VIRTUAL.md")
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```(?:python|yaml|text)\n(.*?)```\n").FindAllStringSubmatch(page, -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 5 { // the third block is the workflow
		t.Fatalf("the page has %d blocks", len(blocks))
	}
	dir = t.TempDir()
	for name, text := range map[string]string{"worker.py": blocks[0], "our-lock.yaml": blocks[1],
		"plan.txt": blocks[3]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, "/usr/bin/python3 " + filepath.Join(dir, "worker.py"), blocks[4]
}

// TestThePageOfVirtualTimeShowsItsFinding runs the worker, scenario and plan from the VIRTUAL.md page. The report must
// equal the one on that page.
func TestThePageOfVirtualTimeShowsItsFinding(t *testing.T) {
	dir, command, report := pageOfVirtualTime(t)
	var out, problems bytes.Buffer
	code := run([]string{"replay", filepath.Join(dir, "plan.txt"), "--client", command, "--out",
		filepath.Join(dir, "out")}, &out, &problems)
	shown := regexp.MustCompile("(?m) +$").ReplaceAllString(out.String(), "")
	if code != exitOtherwise || !strings.Contains(shown, report) {
		t.Errorf("exit %d\n%s%s", code, shown, problems.String())
	}
	text, err := os.ReadFile(filepath.Join(dir, "out", "plan.txt"))
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`, with: .* replay (\S+) --client '(.*)'; the run's digest is (\S+)\n`).
		FindStringSubmatch(string(text))
	if said == nil {
		t.Fatalf("the plan does not name the program:\n%s", text)
	}
	if !testkit.Thorough() {
		return // each run of the page's program takes a second
	}
	out.Reset()
	code = run([]string{"replay", said[1], "--client", said[2], "--out", filepath.Join(dir, "again")}, &out, &problems)
	if code != exitOtherwise || !strings.Contains(out.String(), said[3]) {
		t.Errorf("the command in the plan gives exit %d\n%s%s", code, out.String(), problems.String())
	}
}

// TestExploreFindsWhatBreaksTheLockOfThePage checks that a search with default settings soon finds a violation of
// redis-py's lock, and shrinks its plan to the fault in the page's plan. This takes hundreds of runs of the program.
func TestExploreFindsWhatBreaksTheLockOfThePage(t *testing.T) {
	testkit.FullOnly(t)
	dir, command, _ := pageOfVirtualTime(t)
	var out, problems bytes.Buffer
	found := filepath.Join(dir, "found")
	code := run([]string{"explore", filepath.Join(dir, "our-lock.yaml"), "--client", command, "--seeds", "4", "--out",
		found}, &out, &problems)
	const finding = "mutual-exclusion-holder-outlived-its-lease-late-packet"
	plan, err := os.ReadFile(filepath.Join(found, finding, "plan.txt"))
	page, pageErr := os.ReadFile(filepath.Join(dir, "plan.txt"))
	if err != nil || pageErr != nil {
		t.Fatalf("%v %v: exit %d\n%s%s", err, pageErr, code, out.String(), problems.String())
	}
	fault := func(plan []byte) string {
		lines := strings.Split(strings.TrimSpace(string(plan)), "\n")
		return lines[len(lines)-1]
	}
	if code != exitOtherwise || fault(plan) != fault(page) {
		t.Errorf("exit %d, and the plan ends in %q; the page's in %q\n%s%s", code, fault(plan), fault(page),
			out.String(), problems.String())
	}
}

// asPasted returns a report with the lines of its commands joined as a shell would join them. Each run of spaces
// becomes a single space.
func asPasted(report string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("'\\\n'", "", "\\\n", "").Replace(report)), " ")
}

// TestEachFaultOfARunOfPrograms makes verify try every single fault in one run of redis-py's lock. A pause breaks the
// lock, and the counterexample can be repeated. If a clock jumps, on a client or on the server, a lease may end early.
// Even then, nobody releases another client's lock, because the library compares the lock's value first. By default,
// the search ends early and remains undecided.
func TestEachFaultOfARunOfPrograms(t *testing.T) {
	testkit.ThoroughOnly(t)
	if err := traced.Allowed(); err != nil {
		testkit.Lacks(t, err)
	}
	worker := strings.TrimPrefix(workerCommand(t, "redis-py"), "exec ")
	dir := t.TempDir()
	verify := func(promise, kind string, more ...string) (code int, shown string) {
		file := filepath.Join(dir, kind+".yaml")
		text := "name: lock\nservers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: 10s}\n" +
			"work: {cycles: 1, hold: 100ms}\npromise: [" + promise + "]\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, problems bytes.Buffer
		code = run(append([]string{"verify", file, "--client", worker, "--kinds", kind, "--out",
			filepath.Join(dir, kind)}, more...), &out, &problems)
		return code, asPasted(out.String() + problems.String())
	}
	wantCode, want, more := exitUndecided, "the budget of runs is used up", []string{"--requests", "--budget", "5"}
	if testkit.Full() {
		wantCode, want = exitExpected, "single faults breaks ownership"
		more = more[:1]
	}
	if code, shown := verify("ownership", "jump", more...); code != wantCode || !strings.Contains(shown, want) {
		t.Errorf("jump: exit %d\n%s", code, shown)
	}
	code, shown := verify("mutual-exclusion", "pause", "--requests")
	if code != exitOtherwise || !strings.Contains(shown, "--client '"+worker+"'") {
		t.Errorf("pause: exit %d\n%s", code, shown)
	}
	var out, problems bytes.Buffer
	plan := filepath.Join(dir, "pause", "counterexample", "plan.txt")
	kept, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	digest := regexp.MustCompile("the run's digest is ([0-9a-f]+)").FindStringSubmatch(string(kept))
	code = run([]string{"replay", plan, "--client", worker, "--out", filepath.Join(dir, "again")}, &out, &problems)
	if code != exitOtherwise || digest == nil || !strings.Contains(out.String(), digest[1]) {
		t.Errorf("replay: exit %d, and no %q\n%s%s", code, digest, out.String(), problems.String())
	}
	want = "clients that are programs can be verified only in a single run"
	if code, shown := verify("mutual-exclusion", "pause"); code != exitBadInput || !strings.Contains(shown, want) {
		t.Errorf("without --requests: exit %d\n%s", code, shown)
	}
}

// TestAdviceForPrograms checks that advise finds two changes that fix a program's lock: servers that stay down for
// longer than a lease after a crash, and servers that fsync each write. Unless this is a full run (see testkit.Full),
// the search ends early and its result is undecided.
func TestAdviceForPrograms(t *testing.T) {
	testkit.ThoroughOnly(t)
	if err := traced.Allowed(); err != nil {
		testkit.Lacks(t, err)
	}
	worker := strings.TrimPrefix(workerCommand(t, "redsync"), "exec ")
	file := filepath.Join(t.TempDir(), "lock.yaml")
	const text = `name: lock
servers: {redis: 3, persistence: none}
lock: {protocol: redlock, ttl: 10s}
work: {hold: 8s}
promise: [lease-exclusion]
faults:
  - cut client-1 | redis-3 at 0s for 30s
  - crash redis-2 losing unsynced writes at 500ms, restart after 10ms
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cpu, wantCode, wants := "1s", exitUndecided, []string{"The search has used its 1s of processor time (--cpu)."}
	if testkit.Full() {
		cpu, wantCode = "0", exitExpected
		wants = []string{"Set restart delay to 12s: then every promise is kept", "append-fsync: always ✓"}
	}
	var out, problems bytes.Buffer
	code := run([]string{"advise", file, "--client", worker, "--seeds", "1", "--cpu", cpu, "--out",
		filepath.Join(t.TempDir(), "out")}, &out, &problems)
	shown := asPasted(out.String())
	for _, want := range append(wants, "--client "+worker) {
		if code != wantCode || !strings.Contains(shown, want) {
			t.Errorf("exit %d, and no %q:\n%s%s", code, want, out.String(), problems.String())
		}
	}
}

// breakable describes a worker that can be broken by a fault.
type breakable struct {
	worker, program, argument, scenario string
	seed, schedules                     int // a search with this seed finds it within this many schedules
	fault, finding                      string
	sound                               string // with this argument the fault does not break it
}

// TestExploreFindsWhatBreaksAWorker searches for faults that break a worker's promise, with default settings. The
// search must find them within the given number of schedules and shrink them to at most two faults. Only a full run
// (see testkit.Full) performs this search; otherwise, the test uses the given fault. Without the fault, the worker must
// keep its promise. If sound is set, the worker with that argument must keep the promise even under the fault.
func TestExploreFindsWhatBreaksAWorker(t *testing.T) {
	testkit.ThoroughOnly(t)
	for _, c := range []breakable{
		// ioredis waits for answers indefinitely, so using() does not tell its routine that it has lost the lock.
		{"redlock-js", "using.js", "", "using.yaml", 1, 29, "cut client-1 | redis-1 redis-2 after acquired",
			"mutual-exclusion-holder-outlived-its-lease-late-packet", " timeout"},
		{"jedis", "", " checks", "checked.yaml", 16, 18,
			"jump client-2 clock by -2.178s after the 2nd released by client-1",
			"resource-safety-superseded-holder-took-effect", ""},
	} {
		t.Run(c.worker, func(t *testing.T) {
			if err := traced.Allowed(); err != nil {
				testkit.Lacks(t, err)
			}
			command := workerCommand(t, c.worker)
			if c.program != "" {
				command = strings.Replace(command, "worker.js", c.program, 1)
			}
			dir := t.TempDir()
			text := readFrom(t, "scenarios/live/workers/"+c.worker+"/"+c.scenario)
			if err := os.WriteFile(filepath.Join(dir, c.scenario), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c.struck(t, dir, command)
			if testkit.Full() {
				c.isFound(t, dir, command)
			}
		})
	}
}

// struck checks that the fault breaks the worker. It also checks that the worker is sound without the fault or, if
// sound is set, with that argument.
func (c *breakable) struck(t *testing.T, dir, command string) {
	t.Helper()
	file, plan := filepath.Join(dir, c.scenario), filepath.Join(dir, "plan.txt")
	broken := func(fault, argument string) bool {
		lines := "scenario " + file + "\nseed " + strconv.Itoa(c.seed) + "\n" + fault
		if err := os.WriteFile(plan, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, problems bytes.Buffer
		run([]string{"run", file, "--plan", plan, "--client", command + argument, "--out",
			filepath.Join(t.TempDir(), "out")}, &out, &problems)
		shown := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(shown, "resource-safety ") {
			t.Errorf("%s%s", out.String(), problems.String())
		}
		return strings.Contains(shown, "resource-safety violated: superseded holder took effect")
	}
	if !broken(c.fault+"\n", c.argument) {
		t.Error("the fault does not break it")
	}
	if c.sound == "" && broken("", c.argument) || c.sound != "" && broken(c.fault+"\n", c.sound) {
		t.Error("what is sound is broken")
	}
}

// isFound checks that a search finds the fault, in a plan with at most two faults.
func (c *breakable) isFound(t *testing.T, dir, command string) {
	t.Helper()
	var out, problems bytes.Buffer
	code := run([]string{"explore", filepath.Join(dir, c.scenario), "--client", command + c.argument, "--seeds",
		strconv.Itoa(c.schedules), "--out", filepath.Join(dir, "found")}, &out, &problems)
	found, err := os.ReadFile(filepath.Join(dir, "found", c.finding, "plan.txt"))
	_, faults, _ := strings.Cut(string(found), "\nseed ")
	if n := strings.Count(faults, "\n") - 1; err != nil || code != exitOtherwise || n < 1 || n > 2 {
		t.Errorf("exit %d, %v: %s\n%s%s", code, err, found, out.String(), problems.String())
	}
}
