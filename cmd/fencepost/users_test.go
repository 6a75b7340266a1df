//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// usersRedis starts a Redis server that stands in for a user's own, with additional configuration lines, and returns
// its address.
func usersRedis(t *testing.T, config ...string) (here string) {
	t.Helper()
	testkit.Needs(t, "redis-server")
	host, port := testkit.FreeAddress(t)
	here = net.JoinHostPort(host, port)
	users := exec.Command("redis-server", "-")
	lines := append([]string{"port " + port, "bind " + host, `save ""`}, config...)
	users.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if err := users.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		users.Process.Kill()
		users.Wait()
	})
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", here)
		if err == nil {
			c.Close()
			return here
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// asker returns a function that sends inline commands to a Redis server. The function returns the lines of the reply
// that contain values, and skips those that contain lengths.
func asker(t *testing.T, here string) func(command string) []string {
	t.Helper()
	c, err := net.Dial("tcp", here)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	in := bufio.NewReader(c)
	return func(command string) (lines []string) {
		t.Helper()
		fmt.Fprintf(c, "%s\r\nECHO over\r\n", command)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			switch line = strings.TrimSpace(line); {
			case line == "over":
				return lines
			case !strings.ContainsAny(line[:1], "$*"):
				lines = append(lines, line)
			}
		}
	}
}

// watch returns a function that returns the next request that a Redis server executes, as shown by MONITOR.
func watch(t *testing.T, here string) (next func() string) {
	t.Helper()
	c, err := net.Dial("tcp", here)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	in := bufio.NewReader(c)
	next = func() string {
		t.Helper()
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	fmt.Fprint(c, "MONITOR\r\n")
	if answer := next(); answer != "+OK\r\n" {
		t.Fatal(answer)
	}
	return next
}

const onUsers = `name: on-users
servers: {redis: 1}
lock: {protocol: %s}
work: {hold: %s}
limit: 60s
`

// patientLock is a lock whose TTL and timeout are longer than a host stall is likely to be. A run takes as long as the
// TTL.
const patientLock = "set-nx-px, ttl: 10s, timeout: 20s"

// TestTheAgainLineRunsOnTheSameServers checks the repeat commands in the report and in the plan file by executing them.
// Both must use the same servers as the run itself, and must not leave anything on them.
func TestTheAgainLineRunsOnTheSameServers(t *testing.T) {
	here := usersRedis(t)
	ask := asker(t, here)
	ask("SET mine 1")
	t.Chdir(t.TempDir())
	t.Setenv("FENCEPOST_TEST_ADDRESSES", "redis://"+here+"/0")
	file := fmt.Appendf(nil, onUsers, patientLock, "5ms")
	if err := os.WriteFile("on-users.yaml", file, 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(args ...string) string {
		t.Helper()
		var out, problems bytes.Buffer
		if code := run(args, &out, &problems); code != exitExpected {
			t.Fatalf("%v: exit %d\n%s%s", args, code, out.String(), problems.String())
		}
		return out.String()
	}
	words := func(command string) []string {
		all := strings.Fields(strings.NewReplacer("'", "", "\\\n", "").Replace(command))
		return all[slices.Index(all, "live"):] // tests call the program in another way
	}
	said := call("live", "on-users.yaml", "--servers", "env:FENCEPOST_TEST_ADDRESSES", "--out", "first")
	_, again, _ := strings.Cut(said, "\nagain")
	if args := words(again); !strings.Contains(call(args...), "\nagain") || len(args) != 6 {
		t.Errorf("again %q", args)
	}
	t.Chdir("first")
	text, err := os.ReadFile("plan.txt")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# repeat with: "), "\n")
	call(append(words(line), "--out", "../second")...)
	if got := fmt.Sprint(ask("KEYS *")); got != "[mine]" {
		t.Errorf("what is left is %s", got)
	}
}

// TestAKilledRunLeavesNothingForEver checks that a run on the user's servers gives a TTL to a lock that has none. The
// TTL is longer than the run can take, but not much more than an hour. So, after a kill -9, everything that the run
// left there disappears by itself. Keys that do not belong to the run must stay as they are.
func TestAKilledRunLeavesNothingForEver(t *testing.T) {
	t.Parallel()
	kills := testkit.Size(1, 3, 60)
	here := usersRedis(t)
	ask := asker(t, here)
	ask("SET mine 1")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "on-users.yaml"), fmt.Appendf(nil, onUsers, "setnx", "50s"),
		0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	left, next := 0, watch(t, here)
	// the keys seen, including those from earlier runs, because MONITOR may still show requests from those runs
	taken := map[string]bool{}
	for kill := range kills {
		run := exec.Command(self)
		run.Dir = dir
		run.Args = []string{"fencepost", "live", "on-users.yaml", "--servers", here, "--out", fmt.Sprint("out", kill)}
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		// the test kills some of the runs as soon as the key is set, and the others a few requests later
		for there := false; !there; {
			if _, key, sets := strings.Cut(next(), `"SETNX" `); sets {
				key, _, _ = strings.Cut(key, " ")
				there, taken[key] = !taken[key], true
			}
		}
		for range 4 * (kill % 3) {
			next()
		}
		run.Process.Kill()
		run.Wait()
		keys := ask("KEYS fencepost/*")
		if left++; len(keys) < left {
			t.Errorf("after %d kills there are %v", left, keys)
		}
		for _, key := range keys {
			ttl, err := strconv.Atoi(strings.TrimPrefix(ask("TTL " + key)[0], ":"))
			if err != nil || ttl < 60 || ttl > 4000 {
				t.Errorf("%s has %d s left: %v", key, ttl, err)
			}
		}
	}
	if got := fmt.Sprint(ask("GET mine"), ask("TTL mine")); got != "[1] [:-1]" {
		t.Errorf("mine is %s", got)
	}
	t.Logf("%d kills, %d keys left, each with a time to live", kills, left)
}
