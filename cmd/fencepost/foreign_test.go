//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// foreign is a live run with an etcd or ZooKeeper client, and its expected result.
type foreign struct {
	worker, argument, scenario, servers string
	want                                int
	says, not                           string // texts that the report must and must not contain; empty: no requirement
}

// check performs the live run and compares its result with the expected one.
func (c *foreign) check(t testing.TB, command string) {
	t.Helper()
	code, text := lives(t, c.scenario, command+c.argument, "--servers", c.servers)
	text = strings.Join(strings.Fields(text), " ") // the lines of the report are wrapped
	if code != c.want || !strings.Contains(text, c.says) || c.not != "" && strings.Contains(text, c.not) {
		t.Errorf("exit %d, want %d, with %q and without %q:\n%s", code, c.want, c.says, c.not, text)
	}
}

// TestClientsOfEtcdAndZooKeeper checks locks from libraries in two languages, on simulated and real servers, while a
// client is paused or cut off. A client that listens for the loss of its connection is safe when it is cut off.
func TestClientsOfEtcdAndZooKeeper(t *testing.T) {
	testkit.FullOnly(t) // each run takes half a minute of real time
	const outlived = "mutual-exclusion violated: holder outlived its lease (pause)"
	for _, c := range []foreign{
		{"kazoo", "", "zookeeper-pause", "simulated", exitExpected, outlived, ""},
		{"kazoo", "", "zookeeper-pause", "zookeeper", exitExpected, outlived, ""},
		{"kazoo", " fenced", "zookeeper-pause-fenced", "simulated", exitExpected, "", ""},
		{"kazoo", " listens", "zookeeper-listener", "simulated", exitExpected, "", ""},
		{"kazoo", " listens", "zookeeper-listener", "zookeeper", exitExpected, "", ""},
		{"kazoo", "", "zookeeper-session-expiry", "simulated", exitExpected, "holder outlived its lease", ""},
		{"curator", "", "zookeeper-pause", "simulated", exitExpected, outlived, ""},
		{"curator", "", "zookeeper-session-expiry", "zookeeper", exitExpected, "mutual-exclusion violated", ""},
		{"curator", " listens", "zookeeper-listener", "simulated", exitExpected, "", ""},
		{"curator", " latch listens", "zookeeper-listener", "simulated", exitExpected, "", ""},
		{"curator", " latch listens", "zookeeper-pause", "zookeeper", exitExpected, outlived, ""},
		{"python-etcd3", "", "etcd-lease-pause", "simulated", exitExpected, outlived, ""},
		{"python-etcd3", " fenced", "etcd-lease-pause-fenced", "simulated", exitExpected, "", ""},
		{"python-etcd3", "", "etcd-lease-pause", "etcd", exitExpected, outlived, ""},
	} {
		t.Run(c.worker+c.argument+" "+c.scenario+" "+c.servers, func(t *testing.T) {
			t.Parallel()
			command := workerCommand(t, c.worker)
			testkit.Undisturbed(t, func(t testing.TB) { c.check(t, command) })
		})
	}
}

// TestFindingsInClientsOfEtcdAndZooKeeper checks violations that the libraries could have prevented, and events that
// the libraries do not report.
func TestFindingsInClientsOfEtcdAndZooKeeper(t *testing.T) {
	testkit.FullOnly(t)
	file := func(worker, name string) string { return filepath.Join(workers, worker, name) }
	for _, servers := range []string{"simulated", "zookeeper"} {
		for _, c := range []foreign{
			{"kazoo", " impatient", file("kazoo", "given-up.yaml"), servers, exitExpected,
				"stuck although nobody holds", ""},
			{"python-etcd3", "", file("python-etcd3", "late-answer.yaml"), "simulated", exitExpected,
				"mutual-exclusion violated: lease not rechecked", ""},
			{"python-etcd3", " refreshes", "etcd-keepalive-lost", "simulated", exitOtherwise,
				"mutual-exclusion violated", ""},
			{"python-etcd3", " waits", "etcd-lease-pause", "simulated", exitUndecided,
				"missing 1 required positional argument: 'delay_since_first_attempt'", "mutual-exclusion violated"},
		} {
			if c.servers != servers {
				continue
			}
			t.Run(c.worker+c.argument+" "+filepath.Base(c.scenario)+" "+servers, func(t *testing.T) {
				t.Parallel()
				command := workerCommand(t, c.worker)
				testkit.Undisturbed(t, func(t testing.TB) { c.check(t, command) })
			})
		}
	}
}

// TestThePrintedSamples shows how lock classes from published documentation really behave with the libraries they
// import.
func TestThePrintedSamples(t *testing.T) {
	printed := filepath.Join(workers, "python-etcd3", "printed.yaml")
	for _, c := range []foreign{
		// Setting the key succeeds, but nobody acquires the lock.
		{"python-etcd3", "", printed, "simulated", exitUndecided, "AttributeError: header", "client-1 acquires"},
		{"python-etcd3", "", printed, "etcd", exitUndecided, "AttributeError: header", "client-1 acquires"},
		// All holders use the folder's czxid as their token.
		{"kazoo", " default", "printed-zookeeper-lock", "simulated", exitExpected, "token repeated", ""},
		// A stopped client's session lasts longer than 10 s.
		{"kazoo", "", "printed-zookeeper-lock", "simulated", exitOtherwise, "lease-exclusion holds",
			"client-2 acquires"},
		// The functions that the listener calls do not exist. kazoo prints the error and continues.
		{"kazoo", " default listener", "printed-zookeeper-lock", "simulated", exitExpected,
			"NameError: name 'abort_current_operations' is not defined", ""},
	} {
		t.Run(c.worker+c.argument+" "+c.servers, func(t *testing.T) {
			if c.scenario != printed || c.servers != "simulated" {
				testkit.FullOnly(t)
			}
			testkit.ThoroughOnly(t)
			t.Parallel()
			command := strings.Replace(workerCommand(t, c.worker), "worker.py", "printed.py", 1)
			testkit.Undisturbed(t, func(t testing.TB) { c.check(t, command) })
		})
	}
}
