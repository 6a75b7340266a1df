//go:build linux && amd64

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim/traced"
)

// TestAKilledSearchLeavesNothing kills "fencepost explore" at random instants, while it is starting programs, running
// them, killing some of them as a fault, and shrinking plans. Afterward, its clients and the processes that they
// started must be gone, and the temporary folder must be empty. In a full run (see testkit.Full), the test kills the
// command 100 times.
func TestAKilledSearchLeavesNothing(t *testing.T) {
	testkit.ThoroughOnly(t)
	if err := traced.Allowed(); err != nil {
		testkit.Lacks(t, err)
	}
	worker := workerCommand(t, "redis-py")
	dir, temporary := t.TempDir(), t.TempDir()
	scenario, script := filepath.Join(dir, "lock.yaml"), filepath.Join(dir, "worker.sh")
	for path, text := range map[string]string{script: "#!/bin/sh\n" + worker + "\necho over\n",
		scenario: "name: lock\nservers: {redis: 1}\nclients: 3\nlock: {protocol: set-nx-px, ttl: 10s}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(1, 1))
	most := 0
	for n := range testkit.Size(3, 6, 100) {
		command := []string{worker, script}[n%2]
		mark := fmt.Sprintf("FENCEPOST_TEST_MARK=%d/%d", os.Getpid(), n)
		c := exec.Command(os.Args[0], "explore", scenario, "--seeds", "1000", "--client", command, "--out",
			filepath.Join(dir, fmt.Sprint(n)))
		c.Args[0] = "fencepost"
		c.Env = append(os.Environ(), mark, "TMPDIR="+temporary)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(random.IntN(3_000)) * time.Millisecond) // a random instant
		most = max(most, len(marked(mark)))
		c.Process.Kill()
		c.Wait()
		for range 10_000 { // SIGKILL takes effect with a short delay
			if len(marked(mark)) == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if left := marked(mark); len(left) > 0 {
			t.Fatalf("after kill %d of a search of %q, these are left: %v", n, command, left)
		}
	}
	if entries, err := os.ReadDir(temporary); err != nil || len(entries) > 0 {
		t.Errorf("the folder for temporary files holds %v (%v)", entries, err)
	}
	if most < 4 {
		t.Errorf("there were never more than %d processes to kill", most)
	}
}

// marked lists the command lines of all processes with the given mark in their environment.
func marked(mark string) (found []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		if text, _ := os.ReadFile(path); bytes.Contains(text, []byte(mark+"\x00")) {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, strings.ReplaceAll(string(name), "\x00", " "))
		}
	}
	return found
}
