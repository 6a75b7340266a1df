package scenarios

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// TestAClusterFailsOver checks that a history says whether the masters of a Cluster elected a replica on their own or a
// fault ordered the failover. Either way, the lock is lost if its key had not reached the replica.
func TestAClusterFailsOver(t *testing.T) {
	for fault, want := range map[string]history.Why{
		"crash redis-2 losing unsynced writes at 300ms, restart after 5s": history.ByCluster,
		"fail over redis-2 to redis-2-replica-1 at 300ms":                 "",
	} {
		s := parseText(t, "name: x\nservers: {redis: 3, replicas: 1, cluster: on, node-timeout: 1s}\n"+
			"lock: {protocol: set-nx-px}\nwork: {hold: 5s, check-validity: on}\nfaults:\n"+
			"  - cut redis-2 -> redis-2-replica-1 at 0s for 320ms\n  - "+fault+"\n"+
			"expect:\n  lease-exclusion: violated by lost in failover\n"+
			"  mutual-exclusion: violated by lost in failover\n")
		r, err := NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		overs := slices.DeleteFunc(slices.Clone(r.History.Events), func(e history.Event) bool {
			return e.F != history.FailOver || e.Type != history.Invoke
		})
		if len(overs) != 1 || overs[0].Why != want || overs[0].Fault.To[0] != "redis-2-replica-1" {
			t.Errorf("%s: %v", fault, overs)
		}
		if j := s.Judge(r); len(j.Mismatches) > 0 || j.Undecided {
			t.Errorf("%s: %v", fault, j.Mismatches)
		}
	}
}

// TestClientsOfAClusterFollowTheirLocks checks that locks in different slots are on different masters, and that a
// client that does not know the slots finds the right master for each lock.
func TestClientsOfAClusterFollowTheirLocks(t *testing.T) {
	s := parseText(t, "name: x\nservers: {redis: 3, cluster: on}\nlock: {protocol: set-nx-px}\n"+
		"work: {locks: [lock, foo, bar]}\n")
	r, err := NewRunner(s).Run(s.Plan(1))
	if err != nil {
		t.Fatal(err)
	}
	on := map[history.Lock]history.Process{}
	for _, e := range r.History.Events {
		if e.F == history.KeySet {
			on[e.Lock] = e.Process
		}
	}
	if len(on) != 3 || on["lock"] != "redis-2" || on["foo"] != "redis-3" || on["bar"] != "redis-1" {
		t.Errorf("the locks are on %v", on)
	}
}

// TestProtocolsWithSeveralKeysAreRefusedOnACluster tries every protocol for a single Redis server on a Cluster. Either
// the file must be rejected because the lock's keys would be in different slots, or a client must acquire the lock.
func TestProtocolsWithSeveralKeysAreRefusedOnACluster(t *testing.T) {
	ran, refused := 0, 0
	for _, d := range locks.Definitions() {
		if d.Backend != locks.OnRedis || d.Several || d.Name == locks.FromLibrary {
			continue
		}
		s, err := Parse("x.yaml", []byte("name: x\nservers: {redis: 3, cluster: on}\nclients: 2\nlock: {protocol: "+
			string(d.Name)+"}\n"))
		if err != nil {
			if !strings.Contains(err.Error(), "CROSSSLOT") {
				t.Errorf("%s: %v", d.Name, err)
			}
			refused++
			continue
		}
		ran++
		if r, err := NewRunner(s).Run(s.Plan(1)); err != nil || r.Limited || !acquired(r.History.Events) {
			t.Errorf("%s: the lock is never acquired (%v)", d.Name, err)
		}
	}
	if ran < 3 || refused < 4 {
		t.Errorf("%d ran, %d were refused", ran, refused)
	}
}

// acquired reports whether any lock was acquired.
func acquired(events []history.Event) bool {
	return slices.ContainsFunc(events, func(e history.Event) bool {
		return e.F == history.Acquire && e.Type == history.OK
	})
}

func TestSettingsOfAClusterThatContradictEachOther(t *testing.T) {
	const setNX = "\nlock: {protocol: set-nx-px}"
	for text, want := range map[string]string{
		"{redis: 1, cluster: on}" + setNX:                                "a Cluster needs at least 3 masters",
		"{redis: 3, cluster: on}\nlock: {protocol: redlock}":             "in a Cluster, only one master serves a key",
		"{redis: 3, cluster: on}\nlock: {protocol: fenced}":              "(CROSSSLOT): use set-nx-px, or write",
		"{redis: 3, cluster: on}\nlock: {protocol: fair}":                "(CROSSSLOT): use set-nx-px, or write",
		"{redis: 1, node-timeout: 1s}" + setNX:                           "write `cluster: on`",
		"{redis: 3, replicas: 1, cluster: on, down-after: 1s}" + setNX:   "use `node-timeout`",
		"{redis: 3}" + setNX:                                             "use redlock, or a Cluster (`cluster: on`)",
		"{redis: 3, cluster: on}\nlock: {protocol: set-nx-px, wait: {}}": "but each master has only 0",
	} {
		_, err := Parse("x.yaml", []byte("name: x\nservers: "+text+"\n"))
		var wrong *format.Error
		if !errors.As(err, &wrong) || len(wrong.Problems) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not one problem about %q", text, err, want)
		}
	}
}
