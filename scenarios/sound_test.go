package scenarios

import (
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// sound are locks as their documents want them, with careful clients, and the faults that they do not promise to survive.
var sound = []struct {
	text    string
	without []nemesis.Kind // faults
	breaks  []checker.Law  // laws that it does not promise
}{
	{`name: fenced-on-one-redis
servers: {redis: 1, persistence: {append-fsync: always}}
clients: 3
lock: {protocol: fenced, ttl: 5s}
work: {cycles: 3, writes: 1, compute: 200ms, hold: 500ms, think: 0s..1s, check-validity: on}
resource: {fencing: on}
`, []nemesis.Kind{nemesis.Jump, nemesis.Drift}, []checker.Law{checker.MutualExclusion, checker.DeadlockFreedom}},
	{`name: redlock
servers: {redis: 5, persistence: {append-fsync: always}}
clients: 3
lock: {protocol: redlock, ttl: 5s}
work: {cycles: 3, hold: 500ms, think: 0s..1s, check-validity: on}
`, []nemesis.Kind{nemesis.Jump, nemesis.Drift}, []checker.Law{checker.MutualExclusion, checker.DeadlockFreedom}},
	{`name: fenced-and-waited-for
servers: {redis: 1, replicas: 1, persistence: {append-fsync: always}, down-after: 1s, reconfigure-after: 1s}
clients: 3
lock: {protocol: fenced, ttl: 5s, wait: {}}
work: {cycles: 3, writes: 1, compute: 200ms, hold: 500ms, think: 0s..1s, check-validity: on}
resource: {fencing: on}
bound: 60s
`, []nemesis.Kind{nemesis.Jump, nemesis.Drift}, []checker.Law{checker.MutualExclusion, checker.DeadlockFreedom}},
	{`name: etcd
servers: {etcd: 3}
clients: 3
lock: {protocol: etcd, ttl: 5s}
work: {cycles: 3, writes: 1, compute: 200ms, hold: 500ms, think: 0s..1s, check-validity: on}
resource: {fencing: on}
bound: 60s
`, []nemesis.Kind{nemesis.Drift, nemesis.ExpireSession}, []checker.Law{checker.MutualExclusion}},
	{`name: zookeeper
servers: {zookeeper: 3}
clients: 3
lock: {protocol: zookeeper, ttl: 6s, listener: on}
work: {cycles: 3, writes: 1, compute: 200ms, hold: 500ms, think: 0s..1s, check-validity: on}
resource: {fencing: on}
bound: 60s
`, []nemesis.Kind{nemesis.Drift, nemesis.ExpireSession}, []checker.Law{checker.MutualExclusion}},
	{`name: zookeeper-read-write
servers: {zookeeper: 3}
clients: 4
lock: {protocol: zookeeper, ttl: 6s, listener: on}
work: {cycles: 3, hold: 500ms, think: 0s..1s, check-validity: on}
overrides:
  client-1: {lock: {shared: on}}
  client-2: {lock: {shared: on}}
bound: 60s
`, []nemesis.Kind{nemesis.Drift, nemesis.ExpireSession}, []checker.Law{checker.MutualExclusion}},
}

// TestSoundLocksKeepTheirPromisesUnderRandomFaults draws up to five faults a run. No lease promises that sections do not
// overlap when its holder is paused; on one Redis a server that is down for good blocks everybody.
func TestSoundLocksKeepTheirPromisesUnderRandomFaults(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() || raceEnabled {
		seeds = 40
	}
	for _, lock := range sound {
		s, err := Parse("sound.yaml", []byte(lock.text))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			mix := nemesis.MixFor(5 * time.Second)
			for _, kind := range lock.without {
				mix.Weights[kind] = 0
			}
			faults, err := nemesis.NewGenerator(mix, s.Targets(), 8*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			r := NewRunner(s)
			held := map[checker.Law]int{}
			for seed := range seeds {
				plan := nemesis.Plan{Scenario: s.Name, Seed: seed, Faults: faults.Draw(seed)}
				plan.Faults = slices.DeleteFunc(plan.Faults, func(f nemesis.Fault) bool { return f.Loss == nemesis.LosesEverything })
				result, err := r.Run(plan)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range checker.Check(result.History).Findings {
					if f.Outcome == checker.Violated && !slices.Contains(lock.breaks, f.Law) {
						t.Errorf("%s: %s\n%s", f.Law, f.Explanation, plan)
					}
					if f.Outcome == checker.Holds {
						held[f.Law]++
					}
				}
			}
			if held[checker.LeaseExclusion] < int(seeds)*9/10 {
				t.Errorf("lease-exclusion was exercised in %d of %d runs", held[checker.LeaseExclusion], seeds)
			}
		})
	}
}
