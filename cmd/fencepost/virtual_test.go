//go:build linux

package main

import (
	"bytes"
	"path/filepath"
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
