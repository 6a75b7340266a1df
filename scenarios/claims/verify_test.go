package claims

import (
	"context"
	"fmt"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/verify"
)

// small returns scenarios that are small enough to try every placement of a single fault. Their delays and waits are
// fixed, because a verification does not cover any others. Some of the locks are not sound. The test skips a lock if a
// verification finds a counterexample.
func small() (texts []string) {
	const work = "network: {delay: 1ms}\nclients: 2\nlimit: 60s\n"
	const single = "servers: {redis: 1, version: tair, persistence: {append-fsync: always}}\n" + work
	for _, lock := range []string{
		"{protocol: set-nx-px, ttl: 2s, elapsed-check: on, drift-allowance: 10%, retry: {delay: 1s}}",
		"{protocol: set-nx-px, ttl: 2s, elapsed-check: on, drift-allowance: 10%, retry: {delay: 700ms}, release: cad}",
		"{protocol: fenced, ttl: 2s, elapsed-check: on, drift-allowance: 10%, retry: {delay: 1s}}",
		"{protocol: set-nx-px, ttl: 2s, retry: {delay: 1s}, release: del}",
		"{protocol: set-nx-px, ttl: 2s, elapsed-check: on, expiry: absolute, retry: {delay: 1s}}",
		"{protocol: set-nx-px, ttl: 2s, elapsed-check: on, drift-allowance: 10%, retry: {delay: 1s, patience: 3s, " +
			"patience-clock: wall}}",
		"{protocol: fenced, ttl: 2s, clock: wall, elapsed-check: on, drift-allowance: 10%, retry: {delay: 900ms}}",
	} {
		for _, careful := range []string{"on", "off"} {
			texts = append(texts, single+"lock: "+lock+"\nwork: {check-validity: "+careful+"}\n")
		}
	}
	texts = append(texts, "servers: {redis: 3, persistence: {append-fsync: always}}\n"+work+
		"lock: {protocol: redlock, ttl: 2s, retry: {delay: 1s}}\nwork: {check-validity: on}\n")
	if testkit.Full() {
		texts = append(texts, "servers: {etcd: 3}\n"+work+"lock: {protocol: etcd, ttl: 2s, retry: {delay: 1s}}\n")
	}
	return texts
}

// TestWhatAVerificationPassesNoExplorationBreaks checks that if a verification finds that no placement of a single
// fault violates a law, no random fault of the same kinds violates it either.
func TestWhatAVerificationPassesNoExplorationBreaks(t *testing.T) {
	tried := newTally(t, "verified, then explored")
	passed := 0
	for i, text := range small() {
		if i%testkit.Size(18, 3, 1) > 0 {
			continue
		}
		text = fmt.Sprintf("name: small-%d\n%smix: {faults: 1, without: [jump of servers, crash losing everything of "+
			"servers]}\npromise: [lease-exclusion, ownership, deadlock-freedom, fault-tolerance]\n", i, text)
		s, err := scenarios.Parse("small.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		kinds := verify.ScopeOf(s).Every
		if !testkit.Full() && (s.Servers.Backend != locks.OnRedis || s.Servers.N != 1) {
			kinds = []nemesis.Kind{nemesis.Crash, nemesis.Break}
		}
		for _, kind := range kinds {
			if kind == nemesis.Cut && (s.Servers.Backend != locks.OnRedis || s.Servers.N != 1) {
				continue // a random cut may affect several servers, but verify cuts one link in one direction
			}
			v, err := verify.Scenario(context.Background(), s,
				verify.Options{Faults: 1, Delays: 1, Seed: 1, Kinds: []nemesis.Kind{kind}})
			if err != nil {
				t.Fatal(err)
			}
			if standing, _ := v.Standing(); standing != document.Passed {
				continue
			}
			passed++
			drawn := *v.Assignments[0].Scenario
			drawn.Mix = s.Mix
			for k := range drawn.Mix.Weights {
				if nemesis.Kind(k) != kind {
					drawn.Mix.Weights[k] = 0
				}
			}
			seeds := plans(40, 5000)
			e, err := search.NewExploration(&drawn, 0, seeds, search.Whole)
			if err == nil {
				err = e.Run(context.Background(), &drawn, 0, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			tried.tried += seeds
			for _, f := range e.Findings {
				if s.Promise.Covers(f.Law, f.Cause) {
					t.Errorf("small-%d, %s: verified, but seed %d breaks %s by %s\n%s", i, kind, f.First, f.Law,
						f.Cause, text)
				}
			}
		}
	}
	t.Logf("%d verifications passed", passed)
	if passed < testkit.Size(3, 10, 10) {
		t.Errorf("only %d verifications passed", passed)
	}
}
