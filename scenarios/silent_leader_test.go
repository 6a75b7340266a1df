package scenarios

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// In cutMember, the ZooKeeper member that serves a lock's holder is cut off from the other members. The holder has a
// session of five seconds. It can still reach this member and uses its connection.
const cutMember = `
name: cut-member
servers: SERVERS
clients: 3
lock: {protocol: zookeeper, ttl: 5s, listener: on}
work: {cycles: 2, writes: 1, compute: 12s, stagger: 500ms}
faults:
  - cut zookeeper-2 | zookeeper-1 zookeeper-3 after acquired by client-2 for 30s
`

// TestMemberThatIsCutOffServesUntilItMissesItsLeader checks for how long a ZooKeeper member that is cut off answers its
// client. With its default settings, this is up to ten seconds, but the leader ends the session after five seconds. No
// client is misled if the session lasts longer, or if the settings make the member stop serving sooner.
func TestMemberThatIsCutOffServesUntilItMissesItsLeader(t *testing.T) {
	longer := strings.Replace(strings.Replace(cutMember, "SERVERS", "{zookeeper: 3}", 1), "ttl: 5s", "ttl: 15s", 1)
	for seed := range uint64(testkit.Size(2, 10, 10)) {
		if f := judged(t, parseText(t, longer), seed+1).Of(checker.MutualExclusion); f.Outcome != checker.Holds {
			t.Errorf("a longer session, seed %d: %s by %s", seed+1, f.Outcome, f.Cause)
		}
	}
	for servers, want := range map[string]checker.Outcome{"{zookeeper: 3}": checker.Violated,
		"{zookeeper: 3, tick-time: 2s, sync-limit: 5}":    checker.Violated,
		"{zookeeper: 3, tick-time: 2s, sync-limit: 1}":    checker.Holds,
		"{zookeeper: 3, tick-time: 200ms, sync-limit: 5}": checker.Holds} {
		s := parseText(t, strings.Replace(cutMember, "SERVERS", servers, 1))
		for seed := range uint64(testkit.Size(2, 10, 10)) {
			f := judged(t, s, seed+1).Of(checker.MutualExclusion)
			if f.Outcome != want || want == checker.Violated && f.Cause.Kind != checker.ValidityMiscounted {
				t.Errorf("%s, seed %d: %s by %s, want %s", servers, seed+1, f.Outcome, f.Cause, want)
			}
		}
	}
}

// The expected messages are those that ZooKeeper 3.8.0 prints when it is started with these values.
func TestTimesThatZooKeeperRefuses(t *testing.T) {
	for servers, want := range map[string]string{
		"{zookeeper: 3, sync-limit: 0}": "x.yaml:3:37: ZooKeeper does not start with a syncLimit of 0 " +
			`("syncLimit is not set"); expected a number from 1 to 100`,
		"{zookeeper: 3, tick-time: 0s}": "x.yaml:3:36: ZooKeeper does not start with a tickTime of 0 " +
			`("tickTime is not set"); expected whole milliseconds from 100ms to 60s`,
		"{zookeeper: 3, sync-limit: -1}":   "expected a number from 1 to 100, found -1",
		"{zookeeper: 3, tick-time: 1ms}":   "expected whole milliseconds from 100ms to 60s, found \"1ms\"",
		"{zookeeper: 1, sync-limit: 3}":    "sync-limit applies to members of an ensemble, but there is only one",
		"{redis: 1, tick-time: 1s}":        "tick-time is a setting of ZooKeeper: remove it",
		"{zookeeper: 3, ticktime: 1s}":     "tick-time",
		"{zookeeper: 3, sync-limit: five}": "expected a whole number from 1 to 100",
	} {
		_, err := Parse("x.yaml", []byte(strings.Replace(cutMember, "SERVERS", servers, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", servers, err, want)
		}
	}
}
