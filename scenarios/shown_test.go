package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// change replaces a few words in a scenario so that one of its expectations is no longer met.
type change struct {
	scenario, from, to string
	unmet              string // the law or metric whose expectation is no longer met
	// The cause of the violation after the change, or empty if the law is no longer violated.
	cause checker.CauseKind
}

// changes lists changes to scenarios that remove the words that the outcome depends on. If the laws hold in the
// scenario, these words are the remedy. If laws are violated without a fault, these words are the defect.
var changes = []change{
	{"set-nx-px-holder-crash", "protocol: set-nx-px, ttl: 10s}\nwork: {check-validity: on}",
		"protocol: setnx, ttl: 10s}", "deadlock-freedom", checker.StuckBehindCrashed},
	{"lua-release-by-slow-client", "release: script", "release: del", "lease-exclusion", checker.RemovedByNonOwner},
	{"renewal-keeps-lock", "limit: none", "limit: 1", "mutual-exclusion", checker.HolderOutlivedLease},
	{"fenced-gc-pause", "fencing: on", "fencing: off", "resource-safety", checker.StaleEffect},
	{"fence-refuses-equal", "fencing: refuse-equal", "fencing: on", "fencing_token_reject_rate", ""},
	{"pubsub-message", "wake: message", "wake: delay", "messages_per_acquire", ""},
	{"pubsub-lost-message-or-ttl", "wake: message-or-ttl", "wake: message", "deadlock-freedom",
		checker.StuckWithoutHolder},
	{"resource-compare-and-set", "writes: compare-and-set", "writes: blind", "resource-safety", checker.StaleEffect},
	{"release-before-commit", ", release-before-write: on", "", "resource-safety", ""},
	{"release-before-commit-fenced", "fencing: on", "fencing: off", "resource-safety", checker.StaleEffect},
	{"try-lock-leaves-key", "patience-ends: request}}", "patience-ends: request}, release-on-failure: on}",
		`lock_acquisition_time_p99{process="client-2"}`, ""},
	{"try-lock-cleans-up", "release-on-failure: on", "release-on-failure: off",
		`lock_acquisition_time_p99{process="client-2"}`, ""},
	{"reentrant-uncounted", "reentrant: uncounted", "reentrant: counted", "mutual-exclusion", ""},
	{"reentrant-uncounted", "nested: on, ", "", "mutual-exclusion", ""},
	{"reentrant-counted", "reentrant: counted", "reentrant: uncounted", "mutual-exclusion", checker.RemovedByOwner},
	{"reentrant-counted", ", extension: {every: 500ms, limit: none}", "", "mutual-exclusion", checker.NeverRenewed},
	{"hash-counter-watchdog", "until: last-release", "until: first-release", "mutual-exclusion",
		checker.HolderOutlivedLease},
	{"hash-counter-watchdog-stops", "until: first-release", "until: last-release", "mutual-exclusion", ""},
	{"hash-counter-watchdog-goes-on", "until: never", "until: last-release", "deadlock-freedom", ""},
	{"hash-counter-one-owner", "value: per-client", "value: per-request", "ownership", ""},
	{"hash-counter-one-owner", "tasks: 2, ", "", "lease-exclusion", ""},
	{"hash-counter-owner-of-thread", "value: per-acquire", "value: per-client", "lease-exclusion",
		checker.GrantedTwice},
	{"shared-lock-object", ", value-in: object", "", "ownership", ""},
	{"shared-lock-object", "hold: 3s", "hold: 1s", "mutual-exclusion", ""},
	{"shared-lock-object-value-of-call", "value-in: call", "value-in: object", "ownership", checker.RemovedByNonOwner},
	{"shared-lock-object-value-of-call", "hold: 3s", "hold: 1s", "mutual-exclusion", ""},
	{"idempotent-resource", "writes: idempotent", "writes: blind", "resource-safety", checker.StaleEffect},
	{"evicted-on-one-of-five", "redis: 5", "redis: 1", "lease-exclusion", checker.Evicted},
	{"clean-restart-ttl-runs-on", "after 6s", "after 15s", "lock_acquisition_time_p99", ""},
	{"fenced-fsync-always", "append-fsync: always", "append-fsync: no", "token-order", checker.TokenRepeated},
	{"waitaof-everysec", ", wait: {fsync: master, timeout: 2s}", "", "lease-exclusion", checker.LostInCrash},

	{"pause-while-acquiring", "elapsed-check: on", "elapsed-check: off", "lease-exclusion", checker.ValidityMiscounted},
	{"monotonic-client", "clock: monotonic", "clock: wall", "lease-exclusion", checker.ValidityMiscounted},
	{"drift-allowance", "drift-allowance: 1% + 2ms", "drift-allowance: off", "lease-exclusion", checker.ExpiredEarly},
	{"restart-fsync-always", "append-fsync: always", "append-fsync: no", "lease-exclusion", checker.LostInCrash},
	{"clean-restart", "shut down redis-3", "crash redis-3 losing everything", "lease-exclusion", checker.LostInCrash},
	{"delayed-restart", "restart after 11s", "restart after 1s", "lease-exclusion", checker.LostInCrash},
	{"majority-crash", "restart after 11s", "restart after 100ms", "lease-exclusion", checker.LostInCrash},
	{"minority-down", "ttl: 10s", "ttl: 10s, quorum: 4", "deadlock-freedom", checker.NoQuorumLeft},
	{"sequential-vs-parallel", "contact: parallel", "contact: sequential",
		`lock_acquisition_time_p50{process="client-2"}`, ""},
	{"split-vote-fixed-delay", "retry: {delay: 200ms}", "retry: {delay: 50ms..250ms}", "deadlock-freedom", ""},
	{"split-vote-random-delay", "50ms..250ms", "200ms", "deadlock-freedom", checker.StuckWithoutHolder},
	{"split-vote-random-delay", "order: rotated", "order: rotated\n  quorum: 2", "lease-exclusion",
		checker.CountedWithoutQuorum},
	{"split-vote-listed", "retry: {delay: 200ms}", "retry: {delay: 50ms..250ms}", "deadlock-freedom", ""},
	{"split-vote-parallel", "contact: parallel", "contact: sequential", "deadlock-freedom", checker.StuckWithoutHolder},
	{"no-release-on-failure", "release-on-failure: off", "release-on-failure: on", "lock_acquisition_time_p50", ""},
	{"release-everywhere", "release-to: all", "release-to: granted", "lock_acquisition_time_p99", ""},
	{"quorum-of-two", "quorum: 2", "quorum: 3", "lease-exclusion", ""},
	{"skew-of-an-hour", "at 0s", "at 5s", "lease-exclusion", checker.ExpiredEarly},
	{"hung-master", "timeout: 50ms", "timeout: 10s", "lock_acquisition_time_p99", ""},
	{"extension", "hold: 15s, check-validity: on", "hold: 25s", "mutual-exclusion", checker.HolderOutlivedLease},
	{"extension-by-reacquire", "mode: reacquire", "mode: checked", "lease-exclusion", ""},
	{"extension-uncapped", "limit: none", "limit: 3", "deadlock-freedom", ""},

	{"failover-wait", "wait: {timeout: 100ms}", "wait: {timeout: 100ms, obey: off}", "lease-exclusion",
		checker.LostInFailover},
	{"failover-during-wait", "wait: {timeout: 1s}", "wait: {timeout: 1s, obey: off}", "lease-exclusion",
		checker.LostInFailover},
	{"wait-blocks-nobody-else", "wait: none", "wait: {timeout: 5s}", `lock_acquisition_time_p99{process="client-2"}`, ""},
	{"failover-waitaof-master", "fsync: master", "fsync: all", "lease-exclusion", ""},
	{"semi-sync", "semi-sync: on, semi-sync-timeout: 1s, ", "", "lease-exclusion", checker.LostInFailover},
	{"tair-cad-release", "release: cad", "release: del", "lease-exclusion", checker.RemovedByNonOwner},
	{"delex-release", "release: delex", "release: del", "lease-exclusion", checker.RemovedByNonOwner},
	{"tair-cas-renewal", "limit: none", "limit: 1", "mutual-exclusion", checker.HolderOutlivedLease},
	{"redlock-failover-wait", "wait: {timeout: 20ms}", "wait: {timeout: 20ms, obey: off}", "lease-exclusion",
		checker.LostInFailover},
	{"cluster-failover-wait", "wait: {timeout: 100ms}", "wait: {timeout: 100ms, obey: off}", "lease-exclusion",
		checker.LostInFailover},
	{"redlock-asks-all", "ask: all", "ask: until-quorum", "lease-exclusion", checker.LostInFailover},

	{"etcd-lease-pause-fenced", "fencing: on", "fencing: off", "resource-safety", checker.StaleEffect},
	{"etcd-lease-rechecked", "recheck: on", "recheck: off", "lease-exclusion", checker.LeaseNotRechecked},
	{"etcd-keepalive-lost", "stop-when-lost: on", "stop-when-lost: off", "mutual-exclusion",
		checker.HolderOutlivedLease},
	{"etcd-leader-change-late-renewal-fenced", "fencing: on", "fencing: off", "resource-safety", checker.StaleEffect},
	{"etcd-predecessor", "protocol: etcd", "protocol: etcd, line: one-key", "wake_ups_per_release", ""},
	{"consensus-under-faults", "cut etcd-1 | etcd-2", "cut etcd-1 etcd-2 |", "unavailability", ""},

	{"zookeeper-listener", "stagger: 500ms", "stagger: 500ms, stop-when-lost: off", "mutual-exclusion",
		checker.HolderOutlivedLease},
	{"zookeeper-pause-fenced", "fencing: on", "fencing: off", "resource-safety", checker.StaleEffect},
	{"zookeeper-fence-parent-czxid", "token: parent-node", "token: own-node", "token-order", ""},
	{"zookeeper-herd", "watch: lowest", "watch: predecessor", "wake_ups_per_release", ""},
	{"zookeeper-predecessor", "watch: predecessor", "watch: lowest", "wake_ups_per_release", ""},
	{"zookeeper-reconnect", "for 2s", "for 20s", `lock_acquisition_time_p99{process="client-2"}`, ""},
	{"zookeeper-read-write-lock", "hold: 200ms}", "hold: 200ms}\nfaults:\n  - pause client-1 for 20s after acquired",
		"mutual-exclusion", checker.HolderOutlivedLease},
	{"zookeeper-under-faults", "cut zookeeper-1 | zookeeper-2", "cut zookeeper-1 zookeeper-2 |", "unavailability", ""},
	{"zookeeper-timeout-leaves-node", "release-on-failure: off", "release-on-failure: on", "deadlock-freedom", ""},
	{"zookeeper-timeout-withdraws", "release-on-failure: on", "release-on-failure: off", "deadlock-freedom",
		checker.StuckBehindAbandoned},
	{"zookeeper-readers-together", "shared: on", "shared: off", `lock_acquisition_time_p99{process="client-2"}`, ""},

	{"semaphore-servers-clock", "time: server", "time: client", "lease-exclusion", checker.ExpiredEarly},
	{"semaphore-holder-crash", "semaphore, permits: 2", "semaphore, permits: 1", "lock_acquisition_time_p99", ""},
	{"etcd-semaphore", "permits: 2", "permits: 1", `lock_acquisition_time_p99{process="client-3"}`, ""},
	{"zookeeper-semaphore", "permits: 2", "permits: 1", `lock_acquisition_time_p99{process="client-3"}`, ""},

	{"read-write-one-lease", "one-lease", "own-lease", "lease-exclusion", ""},
	{"read-write-own-lease", "own-lease", "one-lease", "lease-exclusion", checker.ValidityMiscounted},
	{"read-write-late-reader", "own-lease", "counter", "lease-exclusion", checker.RemovedByNonOwner},
	{"read-write-writer-waits", "read-write, ", "read-write, prefer: writers, ",
		`lock_acquisition_time_p99{process="client-3"}`, ""},
	{"read-write-writers-first", "prefer: writers", "prefer: none", `lock_acquisition_time_p99{process="client-3"}`, ""},

	{"fair-queue", "timeout: 5s", "timeout: 5s, places: fixed", "fairness", checker.Overtaken},
	{"fair-queue-fixed-places", "places: fixed", "places: renewed", "fairness", ""},
	{"fair-queue-waiter-crash", "timeout: 5s", "timeout: 5s, places: kept", "fairness", checker.LeftFree},
	{"fair-queue-not-withdrawn", "withdraw: off", "withdraw: on", "fairness", ""},

	{"two-locks-opposite-order", "[stock, orders]", "[orders, stock]", "deadlock-freedom", ""},
	{"two-locks-same-order", "client-2: {work: {locks: [orders, stock]}}", "client-2: {work: {locks: [stock, orders]}}",
		"deadlock-freedom", checker.StuckInCycle},
	{"two-locks-hierarchy", "[orders, orders/2]", "[orders/1, orders]", "deadlock-freedom", checker.StuckInCycle},
	{"two-locks-with-timeout", ", patience: 1s", "", "deadlock-freedom", checker.StuckInCycle},
	{"lock-granularity", "[orders/1, orders/2, orders/3, orders/4, orders/5, orders/6, orders/7, orders/8, orders/9]",
		"[orders]", `lock_acquisition_time_p50{process="client-7"}`, ""},

	{"kubernetes-handover", "lease-object}", "lease-object, release-on-cancel: on}", "lock_acquisition_time_p99", ""},
	{"kubernetes-handover-released", "cancel: on", "cancel: off", "lock_acquisition_time_p99", ""},
	{"kubernetes-cut-off", "stop-when-lost: on", "stop-when-lost: off", "mutual-exclusion",
		checker.HolderOutlivedLease},
	{"kubernetes-leader-pause-fenced", "fencing: on", "fencing: off", "resource-safety", checker.StaleEffect},
	{"kubernetes-answer-held-up-longer-lease", "ttl: 23s", "ttl: 15s", "lease-exclusion", checker.ValidityMiscounted},
	{"kubernetes-clocks-set", "lease-object}", "lease-object, count-lease-from: renew-time}", "lease-exclusion",
		checker.ExpiredEarly},
	{"kubernetes-own-lease-duration", "lease-duration: own, ", "", "lease-exclusion", ""},
	{"kubernetes-recorded-lease-duration", "lease-duration: recorded", "lease-duration: own", "lease-exclusion",
		checker.ExpiredEarly},
	{"kubernetes-clock-rate-allowed", "ttl: 66s", "ttl: 50s", "lease-exclusion", checker.ValidityMiscounted},
	{"kubernetes-member-lost", "lease-object}", "lease-object, renew-deadline: 600ms, retry-period: 400ms}",
		`lock_acquisition_time_p50{process="client-2"}`, ""},
	{"kubernetes-one-identity", "value: fixed", "value: per-client", "ownership", ""},
	{"kubernetes-transitions-repeated", "value: per-client", "value: per-acquire", "token-order", ""},

	{"consul-lock-delay", "ttl: 10s", "ttl: 10s, lock-delay: 0s", "resource-safety", checker.StaleEffect},
	{"consul-pause-fenced", "fencing: on", "fencing: off", "resource-safety", checker.StaleEffect},
	{"consul-cut-off", "ttl: 10s", "ttl: 10s, monitor-only: on", "mutual-exclusion", checker.HolderOutlivedLease},
	{"consul-lock-index", "lock-index", "modify-index", "token-order", ""},
	{"consul-release-key", "ttl: 10s", "ttl: 10s, unlock: delete", "ownership", checker.RemovedByNonOwner},

	{"printed-set-nx-ex", "count: 1", "count: 1000", "lock_timeout_rate", ""},
	{"printed-simple-lock-gives-up", "count: 3", "count: 100", "lock_timeout_rate", ""},
	{"printed-redlock-class-retries", "count: 3", "count: 100", "lock_timeout_rate", ""},
	{"printed-etcd-lock-mended", "hold: 20s}", "hold: 30s}\nfaults:\n  - break client-1 | etcd-1 before reply 4",
		"mutual-exclusion", checker.HolderOutlivedLease},
	{"printed-zookeeper-lock", "token: parent-node", "token: own-node", "token-order", ""},
}

// spare lists faults that can be removed without changing the outcome of their scenario, and says why the scenario has
// them.
var spare = map[string]map[string]string{
	"consensus-under-faults": {
		"jump etcd-2 clock by +3600s at 2s": byMonotonic,
		"jump etcd-3 clock by -3600s at 3s": byMonotonic,
	},
	"zookeeper-under-faults": {
		"jump zookeeper-2 clock by +3600s at 2s": byMonotonic,
		"jump zookeeper-3 clock by -3600s at 3s": byMonotonic,
	},
	"skew-of-an-hour": {
		"jump redis-4 clock by -3600s at 0s":  "a clock that is set back keeps a key for longer, whenever that is",
		"jump client-1 clock by +3600s at 0s": "clients count on the monotonic clock",
	},
	"printed-etcd-lock": {
		"crash client-2 at quorum-reached": "the code fails every client alike; one is enough to bar the lock",
	},
}

const byMonotonic = "sessions and leases run on monotonic clocks, and that is what the scenario is there to show"

func (c *change) changed(t *testing.T) *Scenario {
	t.Helper()
	_, text, err := fileOf(c.scenario)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), c.from) {
		t.Fatalf("%s does not say %q", c.scenario, c.from)
	}
	s, err := Parse("changed.yaml", []byte(strings.ReplaceAll(string(text), c.from, c.to)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shows reports whether a run of the changed scenario has the outcome that the change expects.
func (c *change) shows(j format.Judgment) bool {
	f := j.Verdict.Of(checker.Law(c.unmet))
	switch {
	case c.cause != "":
		return f.Outcome == checker.Violated && f.Cause.Kind == c.cause
	case slices.Contains(checker.Laws, f.Law):
		return f.Outcome != checker.Violated
	}
	return slices.ContainsFunc(j.Mismatches, func(m format.Mismatch) bool { return m.Name == c.unmet })
}

// judgedWith runs a scenario with the given faults and returns the judgments. A short test runs fewer seeds than a full
// one.
func judgedWith(t *testing.T, s *Scenario, faults []nemesis.Fault) (all []format.Judgment) {
	t.Helper()
	seeds := testkit.Size(2, 2, 100)
	if testkit.Race {
		seeds = 2
	}
	r := NewRunner(s)
	for seed := range uint64(seeds) {
		plan := s.Plan(seed + 1)
		plan.Faults = faults
		result, err := r.Run(plan)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s.Judge(result))
	}
	return all
}

// TestScenariosComeOutOtherwiseWithFewWordsChanged applies each change in the list to the scenario that it names. The
// named expectation must then not be met with any seed. If it still were, the outcome would not depend on the changed
// words.
func TestScenariosComeOutOtherwiseWithFewWordsChanged(t *testing.T) {
	for _, c := range changes {
		t.Run(c.scenario, func(t *testing.T) {
			testkit.OneIn(t, 4)
			t.Parallel()
			s := c.changed(t)
			for i, j := range judgedWith(t, s, s.Faults) {
				if !c.shows(j) {
					t.Errorf("seed %d: with %q %s comes out as before", i+1, c.to, c.unmet)
				}
			}
		})
	}
}

// TestTheFaultsOfAScenarioDoWhatItShows removes each fault from each scenario in turn. Without the fault, one of the
// expected violations must no longer occur, or one of the metrics must be out of bounds. If the scenario itself does
// not show this, one of its variants, with a few words changed, must. Every scenario must have a fault or such a
// variant.
func TestTheFaultsOfAScenarioDoWhatItShows(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 20)
			t.Parallel()
			s := named(t, name)
			own := changesOf(name)
			if len(s.Faults) == 0 && len(own) == 0 {
				t.Error("nothing can be taken away, and no change of its words is known that changes the outcome")
			}
			for i, f := range s.Faults {
				without := func(s *Scenario) []format.Judgment {
					return judgedWith(t, s, slices.Delete(slices.Clone(s.Faults), i, i+1))
				}
				needed := s.ceases(without(s), s.shows()...) || slices.ContainsFunc(own, func(c change) bool {
					return !slices.ContainsFunc(without(c.changed(t)), c.shows)
				})
				if why := spare[name][f.String()]; needed == (why != "") {
					t.Errorf("%q is needed: %t; said to be spare: %q", f, needed, why)
				}
			}
			s.breaksByItsFaults(t, own)
		})
	}
}

// breaksByItsFaults checks each law that the scenario expects to be violated. The violation must disappear without the
// scenario's faults, or after one of the given changes. If not, breaksByItsFaults reports an error.
func (s *Scenario) breaksByItsFaults(t *testing.T, own []change) {
	for law, e := range s.Expect.Laws {
		if e.Outcome != checker.Violated {
			continue
		}
		unfaulted := len(s.Faults) > 0 && s.ceases(judgedWith(t, s, nil), string(law))
		if !unfaulted && !slices.ContainsFunc(own, func(c change) bool {
			with := c.changed(t)
			return s.ceases(judgedWith(t, with, with.Faults), string(law))
		}) {
			t.Errorf("%s is violated without any fault, and whatever words are changed", law)
		}
	}
}

// shows returns the names of the laws that the scenario expects to be violated, and of the metrics that it has
// expectations for.
func (s *Scenario) shows() (names []string) {
	for law, e := range s.Expect.Laws {
		if e.Outcome == checker.Violated {
			names = append(names, string(law))
		}
	}
	for _, b := range s.Expect.Metrics {
		names = append(names, b.Name)
	}
	return names
}

// ceases reports whether at least one of the named expectations is met in none of the runs. Each name is that of a law
// that should be violated, or of a metric.
func (s *Scenario) ceases(runs []format.Judgment, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(runs, func(j format.Judgment) bool {
			f := j.Verdict.Of(checker.Law(name))
			return (!slices.Contains(checker.Laws, f.Law) || f.Outcome == checker.Violated) &&
				!slices.ContainsFunc(j.Mismatches, func(m format.Mismatch) bool { return m.Name == name })
		})
	})
}

func changesOf(name string) (own []change) {
	for _, c := range changes {
		if c.scenario == name {
			own = append(own, c)
		}
	}
	return own
}
