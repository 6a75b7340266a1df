package scenarios

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestAReleaseWithoutAnAnswerMayHaveTakenEffect cuts the holder off before it releases, on every protocol.
func TestAReleaseWithoutAnAnswerMayHaveTakenEffect(t *testing.T) {
	for name, servers := range map[string]string{
		"set-nx-px": "redis: 1", "setnx": "redis: 1", "fenced": "redis: 1", "redlock": "redis: 3", "etcd": "etcd: 3", "zookeeper": "zookeeper: 3",
	} {
		cut := map[string]string{"redis: 1": "redis-1", "redis: 3": "redis-1 redis-2 redis-3", "etcd: 3": "etcd-1 etcd-2 etcd-3",
			"zookeeper: 3": "zookeeper-1 zookeeper-2 zookeeper-3"}[servers]
		s, err := Parse("cut.yaml", []byte("name: cut\nservers: {"+servers+"}\nclients: 1\nlock: {protocol: "+name+"}\nfaults:\n  - cut client-1 | "+
			cut+" after before-release\nlimit: 60s\n"))
		if err != nil {
			t.Fatal(err)
		}
		result, err := NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		var returned []history.Event
		for _, e := range result.History.Events {
			if e.F == history.Release && e.Process == "client-1" && e.Type != history.Invoke {
				returned = append(returned, e)
			}
		}
		if len(returned) != 1 || returned[0].Type != history.Info || returned[0].Why != history.NoReply {
			t.Errorf("%s: %+v, want one release, info for want of a reply", name, returned)
		}
	}
}
