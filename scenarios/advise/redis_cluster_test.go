package advise

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/claims"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// onClusters lists the protocols whose locks work in a Redis Cluster.
func onClusters(t testing.TB) (list []*locks.Definition) {
	for _, d := range locks.Definitions() {
		text := fmt.Sprintf("name: x\nservers: {redis: 3, replicas: 1, cluster: on}\nlock: {protocol: %s}\n", d.Name)
		if d.Backend != locks.OnRedis {
			continue
		}
		if _, err := scenarios.Parse("x", []byte(text)); err == nil {
			list = append(list, d)
		}
	}
	if len(list) < 4 {
		t.Fatalf("only %d protocols work in a Cluster", len(list))
	}
	return list
}

// assembleCluster returns a random lock in a Redis Cluster, and a plan that makes the Cluster elect a replica to
// replace the lock's master. In most plans, the replica does not have the lock, because it was cut off from the master
// or was restarted.
func assembleCluster(t testing.TB, seed uint64, protocols []*locks.Definition) (*scenarios.Scenario, nemesis.Plan) {
	a := &assembly{t: t, seed: seed, dice: rand.New(rand.NewPCG(seed, 0x636c7573746572)), ttl: 10 * time.Second}
	replicas := 1 + a.dice.IntN(2)
	a.begin([]string{fmt.Sprintf("name: assembled-%d", seed),
		fmt.Sprintf("servers: {redis: 3, replicas: %d, cluster: on, node-timeout: %s}", replicas,
			pick(a, "300ms", "500ms", "1s")),
		fmt.Sprintf("lock: {protocol: %s, ttl: 10s}", pick(a, protocols...).Name), "limit: 60s",
		fmt.Sprintf("work: {hold: %s}", pick(a, "5s", "7s", "9s"))})
	a.set("work.check-validity", "on")
	if a.chance(60) {
		a.edit(func(doc *format.Document) {
			doc.Set("lock.wait.replicas", fmt.Sprint(1+a.dice.IntN(replicas)))
			doc.Set("lock.wait.timeout", "100ms")
		})
	}
	if a.chance(20) {
		a.set("servers.persistence.append-fsync", pick(a, "always", "no"))
	}
	p := nemesis.Plan{Scenario: a.scenario.Name, Seed: seed}
	const master = sim.ProcessID("redis-2") // of the lock's slot
	replica := func() sim.ProcessID {
		return sim.ProcessID(fmt.Sprintf("%s-replica-%d", master, 1+a.dice.IntN(replicas)))
	}
	crash := func(target sim.ProcessID, restart time.Duration) {
		p.Faults = append(p.Faults, nemesis.Fault{Kind: nemesis.Crash, Target: target, Loss: nemesis.LosesUnsynced,
			Trigger: nemesis.Trigger{Time: 300 * time.Millisecond}, Restart: restart})
	}
	behind := replica()
	if a.chance(70) {
		p.Faults = append(p.Faults, nemesis.Fault{Kind: nemesis.Cut, Left: []sim.ProcessID{master},
			Right: []sim.ProcessID{behind}, OneWay: true, For: 500 * time.Millisecond})
	}
	for i := range replicas {
		if r := sim.ProcessID(fmt.Sprintf("%s-replica-%d", master, i+1)); r != behind && a.chance(70) {
			crash(r, pick(a, 5*time.Second, 8*time.Second))
		}
	}
	if a.chance(25) {
		crash(behind, time.Second)
	}
	crash(master, pick(a, 4*time.Second, 8*time.Second))
	return a.scenario, p
}

// TestRemediesHelpInARedisCluster applies each remedy to a scenario in which a Redis Cluster elects a replica and
// thereby loses the lock. All remedies must help, and the scenario must not already comply with any of them.
func TestRemediesHelpInARedisCluster(t *testing.T) {
	testkit.ThoroughOnly(t)
	r := newRemedyTrials(t, claims.NewWrongs(t))
	protocols := onClusters(t)
	elections := 0
	for seed := range uint64(testkit.Size(4, 16, 600)) {
		s, p := assembleCluster(t, seed+1, protocols)
		result, err := scenarios.NewRunner(s).Run(p)
		if err != nil {
			t.Fatalf("%v\n%s%s", err, s.Text(), p)
		}
		of := &claims.Run{Scenario: s, Result: result, Verdict: checker.Check(result.History)}
		breaches := slices.Collect(of.Verdict.Breaches())
		if i := slices.IndexFunc(breaches, func(f *checker.Finding) bool {
			return f.Cause.Kind == checker.LostInFailover
		}); i >= 0 {
			elections++
			r.story(&claims.Story{Run: of, Finding: *breaches[i]})
		}
	}
	r.report()
	t.Logf("%d plans lost a lock in an election", elections)
	if elections < testkit.Size(4, 16, 600)/8 {
		t.Errorf("only %d plans lost a lock in an election", elections)
	}
	if r.idle()+r.inForce() > 0 {
		t.Errorf("of %d remedies %d did not help, and %d were in force already", r.applied, r.idle(), r.inForce())
	}
}
