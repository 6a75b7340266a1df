package scenarios

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// family returns a name for the kind of server that a scenario's lock uses.
func family(s *Scenario) string {
	switch {
	case s.Servers.Backend == locks.OnEtcd:
		return "etcd"
	case s.Servers.Backend == locks.OnZooKeeper:
		return "ZooKeeper"
	case s.Servers.Backend == locks.OnKubernetes:
		return "Kubernetes"
	case s.Servers.Backend == locks.OnConsul:
		return "Consul"
	case s.Servers.Replicas > 0:
		return "replicated Redis"
	}
	return "Redis"
}

// TestEveryLawIsBrokenAndKeptInEachFamily checks for each kind of server that each law catches a broken lock and passes
// a sound one. The locks come from the catalog and from familyVariants.
func TestEveryLawIsBrokenAndKeptInEachFamily(t *testing.T) {
	seen := map[string]map[checker.Law]map[checker.Outcome]string{}
	judge := func(r *asWritten) {
		s := r.scenario
		f := family(s)
		if seen[f] == nil {
			seen[f] = map[checker.Law]map[checker.Outcome]string{}
		}
		for _, finding := range r.verdict.Findings {
			if seen[f][finding.Law] == nil {
				seen[f][finding.Law] = map[checker.Outcome]string{}
			}
			seen[f][finding.Law][finding.Outcome] = s.Name
		}
	}
	for _, name := range Names() {
		judge(catalogueAsWritten(t, name))
	}
	for _, text := range familyVariants {
		s, err := Parse("variant.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		judge(runAsWritten(t, s))
	}
	for i := range defects {
		_, broken := defects[i].parse(t)
		judge(runAsWritten(t, broken))
	}
	for _, f := range []string{"Redis", "replicated Redis", "etcd", "ZooKeeper", "Kubernetes", "Consul"} {
		for _, law := range checker.Laws {
			for _, o := range []checker.Outcome{checker.Holds, checker.Violated} {
				if seen[f][law][o] == "" && !cannotBreak(f, law, o) {
					t.Errorf("%s: no lock for which %s comes out %s", f, law, o)
				}
			}
		}
	}
}

// cannotBreak reports whether, in a simulation, no lock on servers in the family f can have the given outcome for a
// law. For example, etcd's revision never goes back. Fairness has no outcome for a lock that does not promise an order.
func cannotBreak(f string, law checker.Law, o checker.Outcome) bool {
	if law == checker.Fairness {
		return f != "Redis" && f != "replicated Redis"
	}
	return o == checker.Violated && law == checker.TokenOrder && f == "etcd"
}

// familyVariants are additional scenarios for some kinds of servers. They show outcomes that no catalog scenario shows
// for these servers.
var familyVariants = []string{
	`name: replicated-queue
servers: {redis: 1, replicas: 1}
clients: 4
lock: {protocol: fair, place-timeout: 2s}
work: {hold: 5s, stagger: 1s}
`, `name: replicated-queue-fixed-places
servers: {redis: 1, replicas: 1}
clients: 4
lock: {protocol: fair, place-timeout: 2s, places: fixed}
work: {hold: 5s, stagger: 1s}
`,
	`name: replicated-fence-repeats-a-token
servers: {redis: 1, replicas: 1, down-after: 500ms, reconfigure-after: 1s}
lock: {protocol: fenced, ttl: 10s}
work: {writes: 1, compute: 5s, check-validity: on}
resource: {fencing: on}
faults:
  - cut redis-1 -> redis-1-replica-1 at 0s for 500ms
  - crash redis-1 losing unsynced writes at 300ms, restart after 5s
`, `name: replicated-fence-holds
servers: {redis: 1, replicas: 1}
lock: {protocol: fenced, ttl: 3s}
work: {writes: 1, check-validity: on}
resource: {fencing: on}
faults:
  - pause client-1 for 8s after before-write
`, `name: replicated-del-by-slow-client
servers: {redis: 1, replicas: 1}
clients: 3
lock: {protocol: set-nx-px, ttl: 3s, release: del}
work: {hold: 2s, check-validity: on}
faults:
  - pause client-1 for 2500ms after before-release
`, `name: replicated-setnx-holder-crash
servers: {redis: 1, replicas: 1}
lock: {protocol: setnx}
faults:
  - crash client-1 after acquired
limit: 60s
`, `name: replicated-slow
servers: {redis: 1, replicas: 1}
clients: 1
lock: {protocol: set-nx-px}
bound: 100us
`, `name: etcd-hangs
servers: {etcd: 3}
lock: {protocol: etcd, ttl: 5s}
overrides:
  client-1: {work: {hold: forever}}
limit: 60s
`, `name: etcd-slow
servers: {etcd: 3}
clients: 1
lock: {protocol: etcd, ttl: 5s}
bound: 100us
`, `name: etcd-two-locks
servers: {etcd: 3}
lock: {protocol: etcd, ttl: 5s}
work: {stagger: 0s, locks: [a, b]}
overrides:
  client-2: {work: {locks: [b, a]}}
faults:
  - pause client-1 for 1s after acquired
  - pause client-2 for 1s after acquired
limit: 90s
`, `name: zookeeper-two-locks
servers: {zookeeper: 3}
lock: {protocol: zookeeper, ttl: 6s}
work: {stagger: 0s, locks: [a, b]}
overrides:
  client-2: {work: {locks: [b, a]}}
faults:
  - pause client-1 for 1s after acquired
  - pause client-2 for 1s after acquired
limit: 90s
`, `name: zookeeper-slow
servers: {zookeeper: 3}
clients: 1
lock: {protocol: zookeeper, ttl: 6s}
bound: 100us
`, `name: zookeeper-expired-by-fault
servers: {zookeeper: 3}
lock: {protocol: zookeeper, ttl: 6s}
work: {hold: 5s, stagger: 500ms, stop-when-lost: off}
faults:
  - expire session of client-1 at 2s
`, `name: kubernetes-hangs
servers: {kubernetes: 3}
lock: {protocol: lease-object}
overrides:
  client-1: {work: {hold: forever}}
limit: 90s
`, `name: kubernetes-slow
servers: {kubernetes: 3}
clients: 1
lock: {protocol: lease-object}
bound: 100us
`, `name: consul-hangs
servers: {consul: 3}
lock: {protocol: consul}
overrides:
  client-1: {work: {hold: forever}}
limit: 90s
`, `name: consul-slow
servers: {consul: 3}
clients: 1
lock: {protocol: consul}
bound: 100us
`,
}
