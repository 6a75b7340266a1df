package nemesis

import (
	"strings"
	"testing"
	"time"
)

// impossible lists lines that the grammar allows but that are invalid for a run with testNames.
var impossible = []badLine{
	{"pause redis-9 for 1s at 1s", 7, `no process of this run is called redis-9`, "redis-1"},
	{"pause  client-33 for 1s at 1s", 8, `no process of this run is called client-33`, "client-3"},
	{"pause zookeeper-1 for 1s at 1s", 7, `no process of this run is called zookeeper-1`, ""},
	{"shut down redis-5 at 1s", 11, `no process of this run is called redis-5`, "redis-1"},
	{"shut down client-1 at 1s", 11, `expected a lock server, but client-1 is a client`, ""},
	{"shut down resource at 1s", 11, `expected a lock server, but resource is the protected resource`, ""},
	{"crash resource at 1s", 7, `expected a client or a lock server, but resource is the protected resource`, ""},
	{"crash redis-2 at 1s", 7, `say what redis-2 loses: "losing unsynced writes" or "losing everything"`, ""},
	{"crash client-1 losing everything at 1s", 16, `a client has nothing on disk to lose: remove this`, ""},
	{"crash client-1 at 1s, restart after 2s", 23, `a crashed client does not restart: remove this`, ""},
	{"fail over redis-1 to redis-2 at 1s", 22, `redis-2 does not replicate redis-1`, "redis-1-replica-1"},
	{"fail over redis-1 to redis-1-replica-3 at 1s", 22, `no process of this run is called redis-1-replica-3`,
		"redis-1-replica-1"},
	{"fail over redis-2 to redis-3 at 1s", 11, `redis-2 has no replica to fail over to`, ""},
	{"fail over redis-1 to redis-1 at 1s", 22, `redis-1 cannot take over from itself`, ""},
	{"fail over etcd-1 to etcd-2 at 1s", 11, `expected a Redis node, but etcd-1 is a member of the cluster`, ""},
	{"cut client-1 | client-1 redis-1 at 1s", 16, `client-1 is named twice`, ""},
	{"cut client-1 | client-2 at 1s", 16, `no process on the left exchanges messages with one on the right: there is no link to cut`,
		""},
	{"cut redis-1 | redis-2 resource at 1s", 15,
		`no process on the left exchanges messages with one on the right: there is no link to cut`, ""},
	{"cut client-1 | redis-1 redis-8 at 1s", 24, `no process of this run is called redis-8`, ""},
	{"delay redis-1 -> redis-2 by 3s at 1s", 18, `redis-1 sends nothing to redis-2`, ""},
	{"delay message 1 of redis-1 -> redis-1 by 3s", 31, `redis-1 sends nothing to redis-1`, ""},
	{"break redis-2 | client-1 before reply 1", 7, `expected a client, named first, but redis-2 is a Redis node`, ""},
	{"break client-1 | client-2 before reply 1", 18, `expected a lock server or the resource, but client-2 is a client`,
		""},
	{"slow fsync of etcd-1 by 3s at 1s for 10s", 15, `expected a Redis node, but etcd-1 is a member of the cluster`,
		""},
	{"expire session of redis-1 at 1s", 19, `expected a client, but redis-1 is a Redis node`, ""},
	{"expire session of client-4 at 1s", 19, `no process of this run is called client-4`, "client-1"},
	{"pause redis-1 for 3s after acquired", 28, `only clients pass points: name a client`, "acquired by client-1"},
	{"pause redis-1 for 3s after acquired by client-7", 40, `no process of this run is called client-7`, "client-1"},
	{"pause redis-1 for 3s after acquired by redis-1", 40, `expected a client, but redis-1 is a Redis node`, ""},
	{"delay redis-1 -> redis-1-replica-1 by 3s after acquired", 48, `only clients pass points: name a client`,
		"acquired by client-1"},
}

func TestWhatARunCannotSufferIsRefused(t *testing.T) {
	for _, bad := range impossible {
		if _, err := Parse(bad.line); err != nil {
			t.Errorf("%q: the grammar refuses it: %v", bad.line, err)
		}
		_, err := ParseFor(bad.line, testNames)
		bad.compare(t, err)
	}
}

func TestEveryLineOfTheDesignIsPossible(t *testing.T) {
	for _, g := range grammar {
		if f, err := ParseFor(g.line, testNames); err != nil {
			t.Errorf("%s: %v", g.line, err)
		} else if err := Validate(f, testNames); err != nil {
			t.Errorf("%s: %v", g.line, err)
		}
	}
}

func TestSessionsNeedServersThatKeepThem(t *testing.T) {
	redisOnly := testNames
	redisOnly.Consensus, redisOnly.Sessions = nil, false
	_, err := ParseFor("expire session of client-1 at 1s", redisOnly)
	badLine{"", 8, `clients have no session at these servers, as they have at etcd and ZooKeeper`, ""}.compare(t, err)
}

func TestValidateCountsColumnsInThePrintedLine(t *testing.T) {
	f := mustParse(t, "pause      client-9   for 60s at 1s")
	badLine{"", 7, `no process of this run is called client-9`, "client-1"}.compare(t, Validate(f, testNames))
}

func TestValidateRefusesWhatNoLineCanState(t *testing.T) {
	stray := "the fault has values that its text form cannot express"
	for name, change := range map[string]struct {
		f   Fault
		msg string
	}{
		"no kind":   {Fault{}, anyKind + `, found "unknown"`},
		"no target": {Fault{Kind: Pause, For: 1}, `expected a process such as client-1, found "for"`},
		"no length": {Fault{Kind: Pause, Target: "client-1"},
			`a duration must be longer than 0s, found "0s"`},
		"no pass": {Fault{Kind: Crash, Target: "client-1", Trigger: Trigger{Point: "acquired"}},
			stray},
		"a word as a process": {Fault{Kind: Pause, Target: "at", For: 1},
			`expected a process such as client-1, found "at"`},
		"no such point": {Fault{Kind: Crash, Target: "client-1", Trigger: Trigger{Point: "lunch", Pass: 1}},
			`expected "the" or a point such as acquired, found "lunch"`},
		"another kind's field": {Fault{Kind: Crash, Target: "client-1", PPM: 3}, stray},
		"a time beside a point": {Fault{Kind: Crash, Target: "client-1",
			Trigger: Trigger{Time: 1, Point: "acquired", Pass: 1}}, stray},
		"a negative length": {Fault{Kind: Pause, Target: "client-1", For: -time.Second}, stray},
		"a negative time": {Fault{Kind: Crash, Target: "client-1", Trigger: Trigger{Time: -time.Second}},
			stray},
		"a trigger at a message": {Fault{Kind: Break, Target: "client-1", Peer: "redis-1", Number: 1,
			Trigger: Trigger{Time: 1}}, stray},
		"a second line": {Fault{Kind: Crash, Target: "client-1\ncrash client-2"},
			`expected a process such as client-1, found "client-1\ncrash"`},
		"a cut with one side " +
			"only": {Fault{Kind: Cut, Left: ids("client-1")}, `expected a process such as client-1, found "at"`},
	} {
		err := Validate(change.f, testNames)
		if err == nil || !strings.Contains(err.Error(), change.msg) {
			t.Errorf("%s: got %v, want %s", name, err, change.msg)
		}
	}
}

func TestAnEmptyRunSuffersNothing(t *testing.T) {
	for _, g := range grammar {
		if _, err := ParseFor(g.line, Names{}); err == nil {
			t.Errorf("%s: passes in a run without processes", g.line)
		}
	}
}
