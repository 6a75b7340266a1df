package scenarios_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// kindOfLock lists the places in the project where users look up a kind of lock.
type kindOfLock struct {
	kind          string
	law           checker.Law // what the sound scenario keeps and the broken one does not; empty: a metric
	sound, broken string      // scenarios
	start         string      // argument of init
	compared      string      // row of the comparison; empty: its page names the broken scenario below the table
	example       string      // file of locktest; empty: a library cannot be this kind of lock
	guide         string      // scenario of its row in the guide, if it is not the sound one
}

var kindsOfLocks = []kindOfLock{
	{kind: "semaphore", law: checker.LeaseExclusion, sound: "semaphore-servers-clock",
		broken: "semaphore-clients-clock", start: "semaphore", compared: "Redis, semaphore",
		example: "example_semaphore_test.go"},
	{kind: "read-write lock", law: checker.LeaseExclusion, sound: "read-write-own-lease",
		broken: "read-write-one-lease", start: "read-write", compared: "Redis, read-write",
		example: "example_sharer_test.go"},
	{kind: "fair lock", law: checker.Fairness, sound: "fair-queue", broken: "fair-queue-kept-places", start: "fair",
		compared: "Redis, fair", example: "example_fair_test.go"},
	{kind: "reentrant lock", law: checker.MutualExclusion, sound: "hash-counter-watchdog",
		broken: "reentrant-uncounted", start: "reentrant", compared: "Redis, reentrant",
		example: "example_reentrant_test.go"},
	{kind: "several tasks", law: checker.Ownership, sound: "shared-lock-object-value-of-call",
		broken: "shared-lock-object", start: "tasks", example: "example_tasks_test.go"},
	{kind: "several tasks of a reentrant lock", law: checker.Ownership, sound: "hash-counter-owner-of-thread",
		broken: "hash-counter-one-owner", start: "reentrant", compared: "Redis, reentrant",
		example: "example_tasks_test.go", guide: "hash-counter-watchdog"},
	{kind: "try-lock", sound: "try-lock-cleans-up", broken: "try-lock-leaves-key", start: "try-lock",
		example: "example_try_lock_test.go"},
	{kind: "early release", law: checker.ResourceSafety, sound: "release-before-commit-fenced",
		broken: "release-before-commit", start: "early-release"},
	{kind: "lock whose key is evicted or deleted", law: checker.LeaseExclusion, sound: "evicted-on-one-of-five",
		broken: "evicted-lock", start: "redlock", compared: "Redlock", example: "example_faults_test.go"},
	{kind: "lock on a Redis Cluster", law: checker.LeaseExclusion, sound: "cluster-failover-wait",
		broken: "cluster-failover-loses-lock", start: "cluster", compared: "Redis Cluster",
		example: "example_cluster_test.go"},
	{kind: "election", law: checker.LeaseExclusion, sound: "kubernetes-recorded-lease-duration",
		broken: "kubernetes-own-lease-duration", start: "lease-object", compared: "Kubernetes",
		example: "kubernetes/README.md", guide: "kubernetes-cut-off"},
}

// plain lists the protocols that are ordinary mutexes.
var plain = []locks.Protocol{locks.SetNX, locks.SetNXExpire, locks.SetNXPX, locks.Fenced, locks.Redlock, locks.Etcd,
	locks.ZooKeeper, locks.Consul, locks.PermitList, locks.HashCounter}

// TestEveryKindOfLockHasItsPlaces checks that each kind of lock appears everywhere a user may look for it: in a sound
// and a broken scenario, a scenario to edit, a row of the comparison and of the guide, an answer among the questions,
// and an example to copy.
func TestEveryKindOfLockHasItsPlaces(t *testing.T) {
	guide, questions, comparison := read(t, "DEBATE.md"), read(t, "QUESTIONS.md"), read(t, "COMPARISON.md")
	for _, k := range kindsOfLocks {
		sound, broken := expectation(t, k.sound, k.law), expectation(t, k.broken, k.law)
		if k.law == "" && sound == broken || k.law != "" && (sound != "holds" || broken != "violated") {
			t.Errorf("%s: %q of %s is %q, and of %s %q", k.kind, k.law, k.sound, sound, k.broken, broken)
		}
		if scenarios.KindNamed(k.start) == nil || !strings.Contains(questions, "fencepost init "+k.start) {
			t.Errorf("%s: init %s does not exist, or is in no answer", k.kind, k.start)
		}
		row := "`fencepost run " + cmp.Or(k.guide, k.sound) + "` |"
		if _, needs, _ := strings.Cut(guide, "| I need the lock |"); !strings.Contains(needs, row) {
			t.Errorf("%s: no row of the guide ends with %s", k.kind, row)
		}
		place := "\n" + k.compared + " "
		if k.compared == "" {
			place = "`fencepost run " + k.broken + "`"
		}
		if !strings.Contains(comparison, place) {
			t.Errorf("%s: the comparison has no %q", k.kind, place)
		}
		if k.example == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join("locktest", k.example)); err != nil ||
			!strings.Contains(questions, "](locktest/"+k.example+")") {
			t.Errorf("%s: %s does not exist, or no answer leads to it", k.kind, k.example)
		}
	}
	for _, k := range scenarios.Kinds() {
		if !slices.Contains(plain, k.Lock.Name) && !slices.ContainsFunc(kindsOfLocks, func(l kindOfLock) bool {
			return l.start == k.Name
		}) {
			t.Errorf("%s is among no kind of locks", k.Name)
		}
	}
}

// expectation returns a scenario's expectation for a law or, if the law is empty, for its metrics.
func expectation(t *testing.T, name string, law checker.Law) string {
	t.Helper()
	s, err := scenarios.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	if law != "" {
		return s.Expect.Laws[law].Outcome.String()
	}
	text := ""
	for _, b := range s.Expect.Metrics {
		text += b.Name + " " + b.Text + "\n"
	}
	return text
}
