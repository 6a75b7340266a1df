//go:build linux && amd64

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim/traced"
)

// badWorker is a client that uses redis-py's lock. The first %s is a condition, and the second %s is something that a
// client must not do. If the condition holds, the client does it.
const badWorker = `import ctypes, os, redis, socket, subprocess, sys, time
told = lambda name: os.environ["FENCEPOST_" + name]
redis.Redis.from_url(told("REDIS_1")).ping() # until this connection, all runs are the same
if %s:
    %s
server, resource = redis.Redis.from_url(told("REDIS_1")), redis.Redis.from_url(told("RESOURCE"))
report = lambda *words: resource.execute_command("FENCEPOST", *words)
lock = server.lock(told("LOCK"), timeout=int(told("TTL_MS")) / 1000)
report("ACQUIRING", told("LOCK"))
lock.acquire()
held = lock.local.token
report("ACQUIRED", told("LOCK"), held)
report("RELEASING", told("LOCK"), held)
lock.release()
report("RELEASED", told("LOCK"), held)
`

// sometimes is a condition for badWorker that holds for one client, and only with some seeds.
const sometimes = `told("CLIENT") == "client-2" and os.urandom(1)[0] % 4 == 0`

// badScenario draws random faults that do not break the lock.
const badScenario = `name: bad
servers: {redis: 1}
clients: 2
lock: {protocol: set-nx-px, ttl: 10s}
mix: {weights: {pause: 1}, pause: 1ms..2ms}
`

// TestBadClients checks, for each kind of bad client, that explore fails with an error that says what the client does,
// where, and what to do about it. If the client misbehaves only with some seeds, explore counts those runs and judges
// the others.
func TestBadClients(t *testing.T) {
	if err := traced.Allowed(); err != nil {
		testkit.Lacks(t, err)
	}
	workerCommand(t, "redis-py") // badWorker needs the same
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	scenario := write("bad.yaml", badScenario, 0o600)
	arm := write("arm", "\x7fELF\x02\x01\x01"+strings.Repeat("\x00", 9)+"\x02\x00\xb7\x00"+strings.Repeat("\x00", 44),
		0o700)
	const report = "a client must send this command to FENCEPOST_RESOURCE before it asks for the lock"
	const rules = "a client may connect only to the addresses in its environment, and may only read files"
	for i, c := range []struct {
		name, does string
		wants      []string // what it does, where, and what to do
	}{
		{"loops", "while True: pass", []string{"client-N has used 4s of processor time without making a system call",
			"make it sleep in its loop (in thread N000)"}},
		{"exits early", "sys.exit(3)", []string{"client-N ended with status 3 " +
			"before its first report, which is FENCEPOST ACQUIRING lock", report}},
		{"never connects", "time.sleep(1e9)", []string{"client-N has not reported FENCEPOST ACQUIRING lock within " +
			"30s of its start (it waits in clock_nanosleep)", report}},
		{"forks without end", "while os.fork() or sys.exit(): os.wait()", []string{"client-N calls clone in " +
			"thread N000, to start another process, although it has already started 300", "does it start processes " +
			"endlessly?"}},
		{"forks everywhere", "while True: os.fork()", []string{"client-N calls clone in thread N",
			"although it has already started 300", "does it start processes endlessly?"}},
		{"writes a file", `open("/tmp/file-of-a-bad-client", "w")`, []string{"client-N ended with status 1 before " +
			"its first report", "it wanted to write /tmp/file-of-a-bad-client, and was refused", rules}},
		{"connects elsewhere", `socket.create_connection(("10.9.9.9", 6379))`, []string{"client-N ended with status " +
			"1 before", "it wanted to connect to 10.9.9.9:6379, where no server of the run is", rules}},
		{"calls what is not modeled", "ctypes.CDLL(None).inotify_init1(0)", []string{"client-N calls inotify_init1 " +
			"in thread N000, which is not modeled", "live runs it in real time"}},
		{"becomes a program for another processor", `os.execv("` + arm + `", ["arm"])`, []string{"client-N ended " +
			"with status 1 before its first report", "Exec format error", report}},
		{"becomes a missing program", `os.execv("/no/such/worker", ["worker"])`, []string{"client-N ended with " +
			"status 1 before its first report", "FileNotFoundError", report}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if i%4 != 1 {
				testkit.FullOnly(t)
			}
			testkit.OneIn(t, 6)
			for k, condition := range []string{"True", sometimes} {
				worker := write(fmt.Sprintf("worker-%d-%d.py", i, k), fmt.Sprintf(badWorker, condition, c.does), 0o600)
				exploresBad(t, scenario, "/usr/bin/python3 "+worker, k == 1, c.wants)
			}
		})
	}
	script := write("script.sh", "#!/bin/sh\n/usr/bin/python3 "+
		write("good.py", fmt.Sprintf(badWorker, "False", "pass"), 0o600)+"\necho over\n", 0o700)
	for name, c := range map[string]struct {
		command string
		want    string
	}{
		"missing": {"/no/such/worker", "client-1 could not be started: there is no file /no/such/worker: name the " +
			"program with its path, or one that is in PATH"},
		"another processor": {arm, "client-1 could not be started: " + arm + " is built for AARCH64 (64): build it " +
			"for 64-bit x86-64"},
		"script around the program": {script, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want == "" {
				testkit.ThoroughOnly(t)
			}
			var out, problems bytes.Buffer
			code := run([]string{"explore", scenario, "--seeds", "2", "--client", c.command, "--out",
				filepath.Join(t.TempDir(), "out")}, &out, &problems)
			if (code == exitBadInput) != (c.want != "") || code == exitOtherwise ||
				!strings.Contains(problems.String(), c.want) {
				t.Errorf("exit %d, want %q:\n%s%s", code, c.want, out.String(), problems.String())
			}
		})
	}
	t.Run("where tracing is forbidden", func(t *testing.T) { exploreForbidden(t, scenario, script) })
}

// exploresBad explores a scenario with bad clients. If onlySome is true, the clients misbehave only with some seeds.
func exploresBad(t *testing.T, scenario, command string, onlySome bool, wants []string) {
	t.Helper()
	var out, problems bytes.Buffer
	code := run([]string{"explore", scenario, "--seeds", "8", "--client", command, "--all", "--out",
		filepath.Join(t.TempDir(), "out")}, &out, &problems)
	shown := out.String() + problems.String()
	failed := -1
	counted := regexp.MustCompile(`(\d) of 8 runs could not be judged: a client failed, first`)
	if m := counted.FindStringSubmatch(shown); m != nil {
		failed, _ = strconv.Atoi(m[1])
	}
	switch {
	case onlySome && (code != exitUndecided || failed < 1 || failed > 7):
		t.Errorf("exit %d, and %d of 8 runs failed", code, failed)
	case !onlySome && code != exitBadInput:
		t.Errorf("exit %d", code)
	}
	flat := regexp.MustCompile(`(client-|thread )\d`).ReplaceAllString(strings.Join(strings.Fields(shown), " "), "${1}N")
	for _, want := range wants {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
}

// forbidden names an environment variable. If it is set, this process cannot trace other processes, as in a container
// that forbids tracing, or under Yama.
const forbidden = "FENCEPOST_TEST_TRACING_IS_FORBIDDEN"

func init() {
	if os.Getenv(forbidden) == "" {
		return
	}
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_PTRACE},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
	head := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&head))); e != 0 || err != nil {
		panic(errors.Join(err, e))
	}
}

// exploreForbidden runs "fencepost explore" in a process that cannot trace others.
func exploreForbidden(t *testing.T, scenario, command string) {
	c := exec.Command(os.Args[0], "explore", scenario, "--client", command, "--out", filepath.Join(t.TempDir(), "out"))
	c.Args[0] = "fencepost"
	c.Env = append(os.Environ(), forbidden+"=1")
	out, err := c.CombinedOutput()
	const want = "this machine does not allow tracing it, which virtual time needs (operation not permitted): in " +
		"Docker, add --cap-add SYS_PTRACE; with Yama, kernel.yama.ptrace_scope must be 0 or 1"
	if err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v, want %q:\n%s", err, want, out)
	}
}
