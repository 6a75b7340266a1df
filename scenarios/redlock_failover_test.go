package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// replicated returns a Redlock scenario with five masters that have one replica each. All five masters grant client-1
// the lock. losing is how many masters fail over before their replica has received client-1's key.
func replicated(losing int, lock string) string {
	text := "name: x\nservers: {redis: 5, replicas: 1, reconfigure-after: 1s}\nlock: {protocol: redlock, ttl: 10s" +
		lock + "}\n" +
		"work: {hold: 5s, stagger: 100ms, check-validity: on}\nfaults:\n"
	for i := range losing {
		text += fmt.Sprintf("  - cut redis-%[1]d -> redis-%[1]d-replica-1 at 0s for 1s\n"+
			"  - fail over redis-%[1]d to redis-%[1]d-replica-1 at 500ms\n", i+1)
	}
	return text
}

// A replica that is promoted without having received the lock grants the lock again. The lock is lost only if this
// happens to a majority of the masters.
func TestARedlockLosesItsLockWithAMajorityOfFailovers(t *testing.T) {
	for _, contact := range []string{"sequential", "parallel"} {
		for losing := 1; losing <= 5; losing++ {
			s := parseText(t, replicated(losing, ", contact: "+contact))
			for seed := range uint64(testkit.Size(4, 20, 20)) {
				v := judged(t, s, seed)
				f := v.Of(checker.LeaseExclusion)
				switch lost := f.Outcome == checker.Violated; {
				case lost != (losing >= 3):
					t.Errorf("%s, %d failovers, seed %d: %s %s", contact, losing, seed, f.Outcome, f.Explanation)
				case lost && f.Cause.Kind != checker.LostInFailover:
					t.Errorf("%s, %d failovers, seed %d: violated by %s", contact, losing, seed, f.Cause)
				}
			}
		}
	}
}

// A client gives up on an attempt if too few replicas have received its key. A client that ignores the reply to WAIT
// loses the lock just as if it had not sent WAIT.
func TestARedlockThatWaitsForItsReplicasKeepsItsLock(t *testing.T) {
	for obey, want := range map[string]checker.Outcome{"on": checker.Holds, "off": checker.Violated} {
		s := parseText(t, replicated(5, ", wait: {timeout: 20ms, obey: "+obey+"}"))
		for seed := range uint64(20) {
			if f := judged(t, s, seed).Of(checker.LeaseExclusion); f.Outcome != want {
				t.Errorf("obey %s, seed %d: %s %s", obey, seed, f.Outcome, f.Explanation)
			}
		}
	}
}

// After a failover, clients send their requests to the promoted replica instead of the old master, and count its
// replies.
func TestClientsOfARedlockFollowEachGroupsMaster(t *testing.T) {
	s := parseText(t, `name: x
servers: {redis: 3, replicas: 1, down-after: 500ms}
clients: 1
lock: {protocol: redlock, ttl: 5s}
work: {cycles: 2, hold: 100ms, think: 3s}
faults:
  - crash redis-1 losing everything at 1s
  - fail over redis-3 to redis-3-replica-1 at 1s
`)
	result, err := NewRunner(s).Run(s.Plan(1))
	if err != nil {
		t.Fatal(err)
	}
	var counted []string
	for _, e := range result.History.Events {
		if e.F == history.Acquire && e.Type == history.OK && e.Process == "client-1" {
			counted = append(counted, fmt.Sprint(e.Grant.Counted))
		}
	}
	if want := []string{"[redis-1 redis-2 redis-3]",
		"[redis-1-replica-1 redis-2 redis-3-replica-1]"}; !slices.Equal(counted, want) {
		t.Errorf("counted %s", strings.Join(counted, ", "))
	}
}
