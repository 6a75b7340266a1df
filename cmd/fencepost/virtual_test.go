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

// TestWorkersInVirtualTime runs the client programs that come with live runs in virtual time. Each run is made twice,
// and its calls are compared. A pause breaks each lock, unless the resource asks for a token, as in real time.
func TestWorkersInVirtualTime(t *testing.T) {
	const outlived = "mutual-exclusion violated: holder outlived its lease (pause)"
	for _, c := range []struct{ worker, argument, scenario, want string }{
		{"redis-py", " fenced", "fenced-gc-pause", "resource-safety holds"},
		{"redsync", "", "kleppmann-gc-pause", outlived},
		{"redlock-js", "", "kleppmann-gc-pause", outlived},
		{"jedis", "", "kleppmann-gc-pause", outlived},
		{"redis-rs", "", "kleppmann-gc-pause", outlived},
		{"kazoo", "", "zookeeper-pause", outlived},
		{"kazoo", " fenced", "zookeeper-pause-fenced", "resource-safety holds"},
		{"curator", "", "zookeeper-pause", outlived},
		{"python-etcd3", "", "etcd-lease-pause", outlived},
		{"python-etcd3", " fenced", "etcd-lease-pause-fenced", "resource-safety holds"},
	} {
		t.Run(c.worker+c.argument, func(t *testing.T) {
			if err := traced.Allowed(); err != nil {
				t.Skip(err)
			}
			command := strings.TrimPrefix(workerCommand(t, c.worker), "exec ") + c.argument
			const twice = 32 // each run whose seed is one more than a multiple of it is made twice
			for n := range testkit.Size(1, 30) {
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

// TestThePageOfVirtualTimeShowsItsFinding: the worker, the scenario and the plan of the page give the report that it
// shows.
func TestThePageOfVirtualTimeShowsItsFinding(t *testing.T) {
	if err := traced.Allowed(); err != nil {
		t.Skip(err)
	}
	workerCommand(t, "redis-py") // the page's worker needs what this one needs
	page := readFrom(t, "scenarios/live/VIRTUAL.md")
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```(?:python|yaml|text)\n(.*?)```\n").FindAllStringSubmatch(page, -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 5 { // the third is the workflow
		t.Fatalf("the page has %d blocks", len(blocks))
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"worker.py": blocks[0], "our-lock.yaml": blocks[1],
		"plan.txt": blocks[3]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, problems bytes.Buffer
	code := run([]string{"replay", filepath.Join(dir, "plan.txt"), "--client",
		"/usr/bin/python3 " + filepath.Join(dir, "worker.py"), "--out", filepath.Join(dir, "out")}, &out, &problems)
	shown := regexp.MustCompile("(?m) +$").ReplaceAllString(out.String(), "")
	if code != exitOtherwise || !strings.Contains(shown, blocks[4]) {
		t.Errorf("exit %d\n%s%s", code, shown, problems.String())
	}
}
