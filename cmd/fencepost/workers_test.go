//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// workers is the folder with the client programs that come with live runs.
const workers = "../../scenarios/live/workers"

// workerCommand prepares a client program and returns the command that starts it. These programs are not all written in
// Go. If the machine lacks something that the program needs, the test is skipped or fails (see testkit.Lacks).
func workerCommand(t testing.TB, name string) string {
	t.Helper()
	need := func(what string, err error) {
		if err != nil {
			testkit.Lacks(t, fmt.Errorf("%s: %w", what, err))
		}
	}
	at, err := filepath.Abs(filepath.Join(workers, name))
	if err != nil {
		t.Fatal(err)
	}
	switch name {
	case "redis-py", "redis-py-sentinel":
		const python = "/usr/bin/python3" // the libraries are installed as system packages, for this interpreter
		out, err := exec.Command(python, "-c", "import redis.lock, redis.sentinel").CombinedOutput()
		need("python3-redis is not installed: "+string(out), err)
		return python + " " + filepath.Join(at, "worker.py")
	case "kazoo", "python-etcd3":
		const python = "/usr/bin/python3"
		library := map[string]string{"kazoo": "kazoo.recipe.lock", "python-etcd3": "etcd3"}[name]
		out, err := exec.Command(python, "-c", "import redis, "+library).CombinedOutput()
		need("python3-redis and "+map[string]string{"kazoo": "python3-kazoo", "python-etcd3": "python3-etcd3"}[name]+
			" are not installed: "+string(out), err)
		return python + " " + filepath.Join(at, "worker.py")
	case "curator":
		var path []string
		for _, jar := range []string{"curator-recipes", "curator-framework", "curator-client", "zookeeper", "guava",
			"slf4j-nop"} {
			path = append(path, "/usr/share/java/"+jar+".jar")
			_, err := os.Stat(path[len(path)-1])
			need("libcurator-recipes-java is not installed", err)
		}
		classes := t.TempDir()
		build := exec.Command("javac", "-cp", strings.Join(path, ":"), "-d", classes, filepath.Join(at, "Worker.java"))
		out, err := build.CombinedOutput()
		need("Worker.java does not compile: "+string(out), err)
		return "exec java -Xmx64m -XX:TieredStopAtLevel=1 -cp " + strings.Join(append(path, classes), ":") + " Worker"
	case "jedis":
		lib := filepath.Join(at, "lib")
		_, err := os.Stat(lib)
		need("the jars of jedis are not there: run mvn dependency:copy-dependencies -DoutputDirectory=lib in "+at, err)
		classes := t.TempDir()
		build := exec.Command("javac", "-cp", lib+"/*", "-d", classes, filepath.Join(at, "Worker.java"))
		out, err := build.CombinedOutput()
		need("Worker.java does not compile: "+string(out), err)
		return "java -Xmx64m -XX:TieredStopAtLevel=1 -cp '" + lib + "/*:" + classes + "' Worker"
	case "redis-rs":
		program := filepath.Join(at, "target", "release", name)
		_, err := os.Stat(program)
		need("cargo build --release --locked has not been run in "+at, err)
		return program
	case "redlock-js":
		_, err := os.Stat(filepath.Join(at, "node_modules", "redlock"))
		need("npm ci has not been run in "+at, err)
		return "node " + filepath.Join(at, "worker.js")
	default:
		programs := t.TempDir() // go run keeps the linked program in the build cache, which go build does not
		build := exec.Command("go", "run", "-exec", "cp --target-directory="+programs, ".")
		build.Dir = at
		out, err := build.CombinedOutput()
		need(string(out), err)
		return filepath.Join(programs, name)
	}
}

// lives runs a scenario live with a client program, and returns the exit code and the output.
func lives(t testing.TB, scenario, command string, more ...string) (code int, text string) {
	t.Helper()
	var out, problems bytes.Buffer
	args := []string{"live", scenario, "--client", command, "--out", filepath.Join(t.TempDir(), "out")}
	code = run(append(args, more...), &out, &problems)
	return code, out.String() + problems.String()
}

// TestWorkersShowWhatTheyAreThereToShow runs client programs in three languages while a client is paused, with and
// without a fencing token.
func TestWorkersShowWhatTheyAreThereToShow(t *testing.T) {
	for _, c := range []struct {
		worker, argument, scenario string
		want                       int
	}{
		{"redis-py", "", "fenced-gc-pause", exitOtherwise}, // an update of the data is lost
		{"redis-py", " fenced", "fenced-gc-pause", exitExpected},
		{"redsync", "", "kleppmann-gc-pause", exitExpected},
		{"redlock-js", "", "kleppmann-gc-pause", exitExpected},
	} {
		t.Run(c.worker+c.argument, func(t *testing.T) {
			if c.worker != "redis-py" || c.argument != "" { // each run takes ten seconds of real time
				testkit.FullOnly(t)
			}
			t.Parallel()
			testkit.Undisturbed(t, func(t testing.TB) {
				command := workerCommand(t, c.worker)
				if code, text := lives(t, c.scenario, command+c.argument); code != c.want {
					t.Errorf("exit %d, want %d\n%s", code, c.want, text)
				}
			})
		})
	}
}

// TestALockUnderASentinel checks that a lock is lost in a failover, on simulated and on real servers, unless its client
// waits until a replica has the key. At the end of its section, the redsync client also overwrites what another client
// has written.
//
// For the Redlock library for Node, it is enough if one of three runs shows the loss, because the library may block its
// own acquire. It sends EVALSHA to a promoted master, which does not know the script and answers NOSCRIPT. The library
// then sends EVAL, which arrives after the same attempt's release and leaves a key that does not belong to anybody
// until its TTL ends.
func TestALockUnderASentinel(t *testing.T) {
	testkit.FullOnly(t)
	for _, servers := range []string{"simulated", "redis"} {
		for _, c := range []underASentinel{
			{"redis-py-sentinel", "", "failover-loses-lock", exitExpected, 1},
			{"redis-py-sentinel", " waits", "failover-wait", exitExpected, 1},
			{"redlock-js", "", "redlock-failover-loses-locks", exitExpected, 3},
			{"redsync", "", "redlock-failover-loses-locks", exitOtherwise, 1},
		} {
			t.Run(servers+" "+c.worker+c.argument, func(t *testing.T) {
				t.Parallel()
				testkit.Undisturbed(t, func(t testing.TB) { c.holds(t, servers) })
			})
		}
	}
}

// underASentinel is a client program with a scenario, and the expected result.
type underASentinel struct {
	worker, argument, scenario string
	want, runs                 int
}

func (c *underASentinel) holds(t testing.TB, servers string) {
	t.Helper()
	command := workerCommand(t, c.worker)
	var code int
	var text string
	for range c.runs {
		code, text = lives(t, c.scenario, command+c.argument, "--servers", servers)
		lost := strings.Contains(text, "lease-exclusion violated: lost in failover")
		if code == c.want && lost == (c.argument == "") {
			return
		}
	}
	t.Errorf("exit %d, want %d\n%s", code, c.want, text)
}

// TestFindingsInForeignLibrariesRepeat checks that each library's plan breaks its lock in at least nine of ten runs.
func TestFindingsInForeignLibrariesRepeat(t *testing.T) {
	testkit.FullOnly(t)
	for worker, scenario := range map[string]string{"redis-py": "late-answer.yaml", "redlock-js": "late-answers.yaml",
		"redsync": "late-release.yaml"} {
		t.Run(worker, func(t *testing.T) {
			command := workerCommand(t, worker)
			broken, last := 0, ""
			for range 10 {
				code, text := lives(t, filepath.Join(workers, worker, scenario), command)
				if code == exitExpected {
					broken++
				} else {
					last = text
				}
			}
			if t.Logf("%d of 10", broken); broken < 9 {
				t.Errorf("broken in %d runs of 10; one that was not:\n%s", broken, last)
			}
		})
	}
}
