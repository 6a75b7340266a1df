package scenarios

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestWhatWentWithoutAnAnswerMayHaveTakenEffect separates the holder from the servers before a release and before an
// extension, with several protocols. The operation's outcome must be "info", which means unknown, because the request
// may have taken effect.
func TestWhatWentWithoutAnAnswerMayHaveTakenEffect(t *testing.T) {
	for _, test := range []struct{ protocol, servers, cut string }{
		{"set-nx-px", "redis: 1", "redis-1"},
		{"setnx", "redis: 1", "redis-1"},
		{"fenced", "redis: 1", "redis-1"},
		{"redlock", "redis: 3", "redis-1 redis-2 redis-3"},
		{"redlock", "redis: 3", "redis-1 redis-2"},
		{"etcd", "etcd: 3", "etcd-1 etcd-2 etcd-3"},
		{"zookeeper", "zookeeper: 3", "zookeeper-1 zookeeper-2 zookeeper-3"},
	} {
		lock := "{protocol: " + test.protocol + "}"
		if got := returned(t, test.servers, lock, "cut client-1 | "+test.cut+" after before-release",
			history.Release); got.Type != history.Info || got.Why != history.NoReply {
			t.Errorf("%s of %s: %+v, want info for want of a reply", lock, test.servers, got)
		}
		if test.protocol == "setnx" || !strings.HasPrefix(test.servers, "redis") {
			continue // the protocol does not extend, or extends through its session
		}
		lock = "{protocol: " + test.protocol + ", extension: {every: 1s}}"
		if got := returned(t, test.servers, lock, "cut client-1 | "+test.cut+" after before-extend",
			history.Extend); got.Type != history.Info || got.Why != history.NoReply {
			t.Errorf("%s of %s: %+v, want info for want of a reply", lock, test.servers, got)
		}
	}
}

// returned runs a scenario with one client under one fault, and returns the client's first reply event for operation f.
func returned(t *testing.T, servers, lock, fault string, f history.F) history.Event {
	s, err := Parse("cut.yaml", []byte("name: cut\nservers: {"+servers+"}\nclients: 1\nlock: "+lock+
		"\nwork: {hold: 2s}\nfaults:\n  - "+fault+"\nlimit: 60s\n"))
	if err != nil {
		t.Fatal(err)
	}
	result, err := NewRunner(s).Run(s.Plan(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range result.History.Events {
		if e.F == f && e.Process == "client-1" && e.Type != history.Invoke {
			return e
		}
	}
	t.Fatalf("%s: no %s returned", lock, f)
	return history.Event{}
}
