package scenarios

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestAProbeWhoseOwnMessagesAreLateAsksAgain runs locks whose keys expire, on networks in which some messages take much
// longer than a client waits for them. If one of the probe's own messages is late, this must not count as a deadlock.
func TestAProbeWhoseOwnMessagesAreLateAsksAgain(t *testing.T) {
	for _, c := range []struct {
		lock  string
		seeds uint64
		tails []string // with longer tails, a cluster's members cannot elect a leader
		more  []uint64 // seeds for which the probe sends its first late message after waiting too long
	}{
		{"servers: {redis: 1}\nlock: {protocol: set-nx-px}", 100, []string{"5% 2s", "10% 20s", "20% 5s..60s"}, nil},
		{"servers: {redis: 3}\nlock: {protocol: redlock}", 100, []string{"5% 2s", "10% 20s", "20% 5s..60s"}, nil},
		{"servers: {etcd: 3}\nlock: {protocol: etcd, ttl: 5s}", 100, []string{"0.5% 60s", "1% 25s"},
			[]uint64{180, 561}},
		{"servers: {zookeeper: 3}\nlock: {protocol: zookeeper, ttl: 5s}", 300, []string{"0.5% 60s", "1% 25s"},
			[]uint64{528}},
	} {
		lock, again, seeds := c.lock, 0, c.more
		for seed := range c.seeds / uint64(testkit.Size(2, 1, 1)) {
			seeds = append(seeds, seed)
		}
		for _, tail := range c.tails {
			s := parseText(t, "name: x\n"+lock+"\nnetwork: {tail: "+tail+"}\nwork: {hold: 100ms}\n")
			r := NewRunner(s)
			for _, seed := range seeds {
				result := runPlan(t, r, seed)
				f := checker.Check(result.History).Of(checker.DeadlockFreedom)
				asked := acquires(result.History, history.Invoke)
				// In a cluster, the slow messages may instead be messages between members. The probe's own messages are
				// then on time, so it does not ask again.
				if slices.Contains(f.Holders, history.Probe) && (asked > 1 || !s.Servers.consensus()) {
					t.Errorf("%s, tail %s, seed %d, asked %d times: %s", lock, tail, seed, asked, f.Explanation)
				}
				if asked > 1 {
					again++
					if acquires(result.History, history.OK) == 0 {
						t.Errorf("%s, tail %s, seed %d: the probe asked %d times for nothing", lock, tail, seed, asked)
					}
				}
			}
		}
		if t.Logf("%s: the probe asked again in %d runs", lock, again); again == 0 {
			t.Errorf("%s: the probe never asked again", lock)
		}
	}
}

func runPlan(t *testing.T, r *Runner, seed uint64) Result {
	t.Helper()
	result, err := r.Run(r.scenario.Plan(seed))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// acquires counts the probe's acquire events of the given type.
func acquires(h *history.History, of history.Type) int {
	n := 0
	for _, e := range h.Events {
		if e.Process == history.Probe && e.F == history.Acquire && e.Type == of {
			n++
		}
	}
	return n
}

// TestAProbeAsksAgainAfterAFaultThatCameLate delays one of the messages that servers keep sending to each other. In
// some runs this happens after the work is done, while the probe is waiting for the lock.
func TestAProbeAsksAgainAfterAFaultThatCameLate(t *testing.T) {
	again := 0
	for n := 20; n <= 400; n += 20 {
		s := parseText(t, fmt.Sprintf("name: x\nservers: {etcd: 3}\nlock: {protocol: etcd, ttl: 5s}\nwork: {hold: "+
			"100ms}\nfaults: [delay message %d of etcd-2 -> etcd-1 by 15s]\n", n))
		result := runPlan(t, NewRunner(s), 1)
		if f := checker.Check(result.History).Of(checker.DeadlockFreedom); f.Outcome != checker.Holds &&
			!result.Limited {
			t.Errorf("message %d: %v: %s", n, f.Outcome, f.Explanation)
		}
		if acquires(result.History, history.OK) > 1 {
			again++
		}
	}
	if t.Logf("the probe asked again in %d runs", again); again == 0 {
		t.Error("the probe never asked again")
	}
}

// TestTheProbeDoesNotGiveUp makes a client crash while it holds a lock that does not expire. The clients try only once.
// The verdict must still show that the lock can no longer be acquired.
func TestTheProbeDoesNotGiveUp(t *testing.T) {
	s := parseText(t, "name: x\nservers: {redis: 1}\nlock: {protocol: setnx, retry: {count: 1}}\nwork: {hold: 1s}\n"+
		"faults: [crash client-1 after acquired]\n")
	result := runPlan(t, NewRunner(s), 1)
	f := checker.Check(result.History).Of(checker.DeadlockFreedom)
	if f.Outcome != checker.Violated || f.Cause.Kind != checker.StuckBehindCrashed ||
		acquires(result.History, history.Invoke) != 1 {
		t.Errorf("%v by %v: %s", f.Outcome, f.Cause, f.Explanation)
	}
}
