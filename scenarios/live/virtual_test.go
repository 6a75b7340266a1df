//go:build linux && amd64

package live

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/traced"
)

// python is the Python interpreter that can import modules from Debian packages such as python3-redis.
const python = "/usr/bin/python3"

// importsRedis reports as an error that the interpreter cannot import redis-py.
var importsRedis = sync.OnceValue(func() error { return exec.Command(python, "-c", "import redis").Run() })

// redisPy returns the command for the worker that uses redis-py's lock.
func redisPy(t *testing.T) string {
	t.Helper()
	if err := importsRedis(); err != nil {
		testkit.Lacks(t, fmt.Errorf("%s has no redis-py: %w", python, err))
	}
	return python + " workers/redis-py/worker.py"
}

// inVirtualTime returns one of the catalog's scenarios, in which all clients run the given command.
func inVirtualTime(t *testing.T, name, command string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return inVirtualTimeOf(t, s, command)
}

// inVirtualTimeOf returns a copy of a scenario in which all clients run the given command in virtual time.
func inVirtualTimeOf(t *testing.T, s *scenarios.Scenario, command string) *scenarios.Scenario {
	t.Helper()
	if err := traced.Allowed(); err != nil {
		testkit.Lacks(t, err)
	}
	v, err := NewVirtual(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return s.With(v.Code())
}

// TestStopEndsRunsInVirtualTime stops a run at its first event. Later runs end immediately.
func TestStopEndsRunsInVirtualTime(t *testing.T) {
	if err := traced.Allowed(); err != nil {
		testkit.Lacks(t, err)
	}
	s, err := scenarios.Named("kleppmann-gc-pause")
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewVirtual(redisPy(t))
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	runner := scenarios.NewRunner(s.With(v.Code()))
	runner.Watch(func(sim.Moment) { v.Stop() })
	for range 2 {
		if _, err := runner.Run(s.Plan(1)); !errors.Is(err, ErrInterrupted) {
			t.Errorf("the run ends with %v, not %v", err, ErrInterrupted)
		}
	}
}

// planned runs a scenario with the given lines as its fault plan.
func planned(t *testing.T, s *scenarios.Scenario, seed uint64, lines ...string) (scenarios.Result, error) {
	t.Helper()
	p := nemesis.Plan{Scenario: s.Name, Seed: seed}
	for _, line := range lines {
		f, err := nemesis.ParseFor(line, s.Targets())
		if err != nil {
			t.Fatal(err)
		}
		p.Faults = append(p.Faults, f)
	}
	return scenarios.NewRunner(s).Run(p)
}

// TestFaultsOfAProgramInVirtualTime runs redis-py's lock without a fencing token and with a TTL of 10 s. It is clear
// from the library's and the worker's code which faults must break the lock.
func TestFaultsOfAProgramInVirtualTime(t *testing.T) {
	s := inVirtualTime(t, "kleppmann-gc-pause", redisPy(t))
	for name, c := range map[string]struct {
		faults []string
		broken []checker.Law
		happen []history.F
	}{
		"nothing": {nil, nil, nil},
		"a pause past the lease": {[]string{"pause client-1 for 15s after before-write"},
			[]checker.Law{checker.MutualExclusion, checker.ResourceSafety}, nil},
		"a pause within the lease": {[]string{"pause client-1 for 5s after before-write"}, nil, nil},
		"a crash":                  {[]string{"crash client-1 after before-write"}, nil, []history.F{history.Crashed}},
		// Neither the library nor the worker reads the wall clock.
		"a jump of its clock":    {[]string{"jump client-1 clock by +1h after acquired"}, nil, nil},
		"a cut within the lease": {[]string{"cut client-1 | redis-1 at 50ms for 3s"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 3)
			r, err := planned(t, s, 3, c.faults...)
			if err != nil {
				t.Fatal(err)
			}
			verdict := s.Judge(r).Verdict
			for _, law := range checker.Laws {
				want := slices.Contains(c.broken, law)
				if got := verdict.Of(law).Outcome == checker.Violated; got != want {
					t.Errorf("%s is violated: %v, want %v", law, got, want)
				}
			}
			for _, f := range c.happen {
				if !slices.ContainsFunc(r.History.Events, func(e history.Event) bool { return e.F == f }) {
					t.Errorf("there is no %s", f)
				}
			}
		})
	}
}

// TestAProgramThatEndsEarly runs a worker that ends while it is working: redis-py reports a broken connection as an
// error, which the worker does not catch. Laws that hold until then must be undecided.
func TestAProgramThatEndsEarly(t *testing.T) {
	s := inVirtualTime(t, "kleppmann-gc-pause", redisPy(t))
	r, err := planned(t, s, 2, "break client-1 | redis-1 before the answer to the EVALSHA")
	if err != nil {
		t.Fatal(err)
	}
	f := s.Judge(r).Verdict.Of(checker.MutualExclusion)
	const want = "client-1 ended with status 1 before it reported FENCEPOST RELEASED lock, so it counts as crashed."
	if f.Outcome != checker.Undecided || !strings.HasSuffix(f.Explanation, want) {
		t.Errorf("%v: %s", f.Outcome, f.Explanation)
	}
}

// TestAProgramThatIsStartedByAScript runs a shell script that starts the worker. Faults affect both processes: a pause
// that outlasts the lease breaks the lock, and a crash ends the client.
func TestAProgramThatIsStartedByAScript(t *testing.T) {
	testkit.ThoroughOnly(t)
	path := filepath.Join(t.TempDir(), "start.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+redisPy(t)+"\necho over\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := inVirtualTime(t, "kleppmann-gc-pause", path)
	for fault, want := range map[string]checker.Outcome{"pause client-1 for 15s after before-write": checker.Violated,
		"crash client-1 after before-write": checker.Holds, "pause client-1 for 5s after before-write": checker.Holds} {
		r, err := planned(t, s, 1, fault) // a run with seed 1 is performed twice
		if err != nil {
			t.Fatal(err)
		}
		if f := s.Judge(r).Verdict.Of(checker.MutualExclusion); f.Outcome != want {
			t.Errorf("%s: %v: %s", fault, f.Outcome, f.Explanation)
		}
	}
}

// TestClientsEndWithTheirLastSection runs a worker that never ends on its own. Each client must be ended once its last
// section has been released, and not before.
func TestClientsEndWithTheirLastSection(t *testing.T) {
	worker := strings.Fields(redisPy(t))[1]
	code := fmt.Sprintf(`import runpy, time; runpy.run_path("%s"); time.sleep(1e9)`, worker)
	const text = "name: endless\nservers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: 10s}\n" +
		"work: {cycles: 3}\n"
	s, err := scenarios.Parse("endless.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s = inVirtualTimeOf(t, s, python+" -c '"+code+"'")
	r, err := planned(t, s, 1)
	if err != nil {
		t.Fatal(err)
	}
	releases := 0
	for _, e := range r.History.Events {
		if e.F == history.Release && e.Type == history.OK && e.Process != history.Probe {
			releases++
		}
	}
	if releases != 6 || r.Limited || r.EndedEarly != "" {
		t.Errorf("%d releases; limited: %t; ended early: %q", releases, r.Limited, r.EndedEarly)
	}
}

// TestEqualSeedsGiveEqualRunsOfPrograms checks that runs with equal seeds have equal digests, even on another thread
// and after other runs, and that runs with different seeds have different digests.
func TestEqualSeedsGiveEqualRunsOfPrograms(t *testing.T) {
	command := redisPy(t)
	s, again := inVirtualTime(t, "fenced-gc-pause", command), inVirtualTime(t, "fenced-gc-pause", command)
	seen := map[uint64]uint64{}
	for seed := range uint64(testkit.Size(1, 5, 5)) {
		a, err := planned(t, s, seed, "pause client-1 for 8s after before-write")
		if err != nil {
			t.Fatal(err)
		}
		b, err := planned(t, again, seed, "pause client-1 for 8s after before-write")
		if err != nil {
			t.Fatal(err)
		}
		if a.Digest != b.Digest {
			t.Errorf("seed %d: %x and %x", seed, a.Digest, b.Digest)
		}
		if before, known := seen[uint64(a.Digest)]; known {
			t.Errorf("seeds %d and %d have the same digest", before, seed)
		}
		seen[uint64(a.Digest)] = seed
	}
}

// TestRunsThatTheirLimitEndsAreEqual checks that when the time limit ends a run, the clients' connections are closed in
// the same order each time.
func TestRunsThatTheirLimitEndsAreEqual(t *testing.T) {
	testkit.ThoroughOnly(t)
	redisPy(t) // what the program needs
	s := inVirtualTime(t, "kleppmann-gc-pause", python+" testdata/tasks.py")
	for n := range uint64(6) {
		r, err := planned(t, s, 1+repeatEvery*n, "cut client-1 client-2 | resource after acquire-start by client-2",
			"cut client-1 client-2 | redis-1 after acquire-start by client-2") // each run is performed twice
		if err != nil || !r.Limited {
			t.Errorf("run %d: limited: %t, %v", n, r.Limited, err)
		}
	}
}

// TestADifferenceNamesTheCall runs a program that sleeps for a time that it reads from the host, which is different
// each time. The error must name the process, the thread and the first call that differs.
func TestADifferenceNamesTheCall(t *testing.T) {
	testkit.ThoroughOnly(t)
	worker := strings.Fields(redisPy(t))
	// The link /proc/self names the ID that the process has on the host. IDs start again at low numbers, so a second is
	// added. Then no client can wake before another one has fallen asleep.
	code := `import os, redis, runpy, time; redis.Redis.from_url(os.environ["FENCEPOST_REDIS_1"]).ping(); ` +
		`time.sleep(1 + int(os.readlink("/proc/self")) / 1e6); ` +
		`runpy.run_path("` + worker[1] + `")`
	s := inVirtualTime(t, "fenced-gc-pause", python+" -c '"+code+"'")
	const seed = 1 // a run with this seed is performed twice
	_, err := planned(t, s, seed)
	var failed *scenarios.CodeError
	const call = `\S+ client-\d/\d000 clock_nanosleep = 0`
	want := regexp.MustCompile("^two runs with seed 1 differ: in one, " + call + "; in the other, " + call)
	if !errors.As(err, &failed) || !want.MatchString(err.Error()) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestProgramsThatCannotBeClients checks that the error for an unsuitable program names the client and says what the
// program does.
func TestProgramsThatCannotBeClients(t *testing.T) {
	dir, scripts := t.TempDir(), 0
	script := func(text string, mode os.FileMode) string {
		path := filepath.Join(dir, fmt.Sprint("program-", scripts))
		scripts++
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct{ command, want string }{
		"missing": {"no-such-program", "client-1 could not be started: there is no program no-such-program in PATH="},
		"silent":  {"/bin/true", "client-1 ended before its first report, which is FENCEPOST ACQUIRING lock"},
		"fails":   {"/bin/false", "client-1 ended with status 1 before its first report"},
		"forks": {python + " -c 'import os\nwhile os.fork(): os.wait()'",
			"client-1 calls clone in thread 1000, to start another process, although it has already started 300"},
		"watches files": {python + " -c 'import ctypes; ctypes.CDLL(None).inotify_init1(0)'",
			"client-1 calls inotify_init1 in thread 1000, which is not modeled"},
		"is woken": {python + " -c 'import signal, time; signal.alarm(1); time.sleep(9)'",
			"client-1 was ended by the signal SIGALRM before its first report"},
		"waits": {python + " -c 'import time; time.sleep(1e6)'", "client-1 has not reported FENCEPOST ACQUIRING lock"},
		"elsewhere": {python + ` -c 'import socket; socket.create_connection(("10.9.9.9", 1))'`,
			"client-1 ended with status 1 before its first report, which is FENCEPOST ACQUIRING lock (it wanted to " +
				"connect to 10.9.9.9:1, where no server of the run is, and was refused: in virtual time, a client " +
				"may connect only to the addresses"},
		"writes": {python + ` -c 'open("/tmp/a-file-of-a-client", "w")'`,
			"client-1 ended with status 1 before its first report, which is FENCEPOST ACQUIRING lock (it wanted to " +
				"write /tmp/a-file-of-a-client, and was refused"},
		"looks a name up": {python + ` -c 'import socket; socket.create_connection(("a.example.com", 1))'`,
			"client-1 ended with status 1 before its first report, which is FENCEPOST ACQUIRING lock (it wanted a " +
				"socket other than a TCP socket, such as one for looking up names, and was refused"},
		"speaks TLS": {python + ` -c 'import os, ssl, socket; s = socket.create_connection(("10.0.0.1", 6379)); ` +
			`ssl._create_unverified_context().wrap_socket(s)'`,
			"client-1 ended with status 1 before its first report, which is FENCEPOST ACQUIRING lock (it wanted to " +
				"speak TLS to redis-1, and was refused"},
		"script": {script("#!/bin/sh\n/bin/ls\n/bin/false", 0o755),
			"client-1 ended with status 1 before its first report"},
		"no program": {script("text", 0o755), "client-1 could not be started: " + dir + "/program-1 is neither a " +
			"program for Linux nor a script that begins with #!"},
		"not executable": {script("#!/bin/sh\n", 0o644), "client-1 could not be started: " + dir + "/program-2 is " +
			"not executable: name its interpreter before it"},
		"folder":  {dir, "client-1 could not be started: " + dir + " is a folder"},
		"no file": {dir + "/none", "client-1 could not be started: there is no file " + dir + "/none"},
		"another processor": {script("\x7fELF\x02\x01\x01"+strings.Repeat("\x00", 11)+"\xb7\x00\x00\x00", 0o755),
			"client-1 could not be started: " + dir + "/program-3 is built for AARCH64 (64)"},
		"32 bits": {script("\x7fELF\x01\x01\x01"+strings.Repeat("\x00", 11)+"\x03\x00\x00\x00", 0o755),
			"client-1 could not be started: " + dir + "/program-4 is built for 386 (32)"},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 5)
			if name == "forks" {
				testkit.ThoroughOnly(t) // 300 processes
			}
			s := inVirtualTime(t, "fenced-gc-pause", c.command)
			_, err := planned(t, s, 2)
			var code *scenarios.CodeError
			if !errors.As(err, &code) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v, want %q …", err, c.want)
			}
		})
	}
}

// TestAProgramThatFailsWithSomeSeeds runs a program that fails with some seeds. Those runs return an error, and runs
// with other seeds do not.
func TestAProgramThatFailsWithSomeSeeds(t *testing.T) {
	testkit.ThoroughOnly(t)
	worker := strings.Fields(redisPy(t))
	// up to its first connection, the program must do the same with all seeds
	code := `import os, redis, runpy; redis.Redis.from_url(os.environ["FENCEPOST_REDIS_1"]).ping(); ` +
		`os.urandom(1)[0] % 2 and os.kill(0, 19); runpy.run_path("` + worker[1] + `")`
	s := inVirtualTime(t, "fenced-gc-pause", python+" -c '"+code+"'")
	failed, made := 0, 0
	for seed := range uint64(12) {
		r, err := planned(t, s, seed)
		var failure *scenarios.CodeError
		switch {
		case errors.As(err, &failure):
			failed++
		case err != nil:
			t.Fatal(err)
		case len(r.History.Events) > 10:
			made++
		}
	}
	if failed == 0 || made == 0 || failed+made != 12 {
		t.Errorf("%d runs failed, and %d were made", failed, made)
	}
}

// TestCommandsOfPrograms checks that a command is split into words without a shell.
func TestCommandsOfPrograms(t *testing.T) {
	for command, want := range map[string][]string{
		"a b":              {"a", "b"},
		" a  'b c' \"d\" ": {"a", "b c", "d"},
		"a ''":             {"a", ""},
		"a | b":            nil,
		"a 'b":             nil,
		"  ":               nil,
		"$HOME/a":          nil,
	} {
		if got, err := wordsOf(command); !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q (%v), want %q", command, got, err, want)
		}
	}
}
