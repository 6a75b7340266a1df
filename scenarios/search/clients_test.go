package search

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// clientsFrom returns a copy of a scenario whose clients' code has the given origin. Its runs are those of the scenario
// itself. ran counts them.
func clientsFrom(plain *scenarios.Scenario, o scenarios.Origin, ran *int) *scenarios.Scenario {
	return plain.With(&scenarios.Code{Programs: sim.Points, Origin: o,
		Elsewhere: func(_ *scenarios.Scenario, p nemesis.Plan, w scenarios.Wanted) (scenarios.Result, error) {
			*ran++
			runner := scenarios.NewRunner(plain)
			runner.ReportSent(w.Sent)
			return runner.Run(p)
		}})
}

// TestShardsOfDifferentClientsAreRefused checks that only shards of the same program or Go test are merged, and that
// the error names both. A shard of an earlier version does not name its clients, so only the digest tells them apart.
func TestShardsOfDifferentClientsAreRefused(t *testing.T) {
	plain, ran := named(t, "kleppmann-gc-pause"), 0
	worker, other := scenarios.Origin{Client: "python3 worker.py"}, scenarios.Origin{Client: "node worker.js"}
	test := scenarios.Origin{Package: "example.com/lock", Test: "TestLock", Folder: "lock"}
	elsewhere := test
	elsewhere.Folder = "/home/user/lock"
	shard := func(o scenarios.Origin, n int) *Result {
		return explored(t, clientsFrom(plain, o, &ran), 1, 6, Shard{n, 2}, 1)
	}
	changed := shard(scenarios.Origin{}, 2)
	changed.Identity.Behaviour = "0"
	for _, c := range []struct {
		one, two *Result
		want     string // the error, or the origin of the merged result
	}{
		{shard(worker, 1), shard(worker, 2), "the program 'python3 worker.py'"},
		{shard(test, 1), shard(elsewhere, 2), "the test TestLock of the Go package example.com/lock"},
		{shard(scenarios.Origin{}, 1), shard(worker, 2), "the program 'python3 worker.py'"},
		{shard(worker, 1), shard(other, 2), "one and two come from different clients: " +
			"one names the program 'python3 worker.py', and two names the program 'node worker.js'"},
		{shard(worker, 1), shard(test, 2), "one and two come from different clients: one names the program " +
			"'python3 worker.py', and two names the test TestLock of the Go package example.com/lock"},
		{shard(worker, 1), changed, "one and two come from different clients: " +
			"one names the program 'python3 worker.py', and two names no program or Go test"},
	} {
		name := func(i int) string { return []string{"one", "two"}[i] }
		got := ""
		if whole, err := Merge([]*Result{c.one, c.two}, name); err != nil {
			got = err.Error()
		} else {
			got = whole.Identity.Clients.String()
		}
		if got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// TestAStoredSearchNamesItsClients checks that the clients of a search survive encoding, and that results of other
// clients are recognized without a run.
func TestAStoredSearchNamesItsClients(t *testing.T) {
	plain, ran := named(t, "kleppmann-gc-pause"), 0
	s := clientsFrom(plain, scenarios.Origin{Client: "a worker"}, &ran)
	stored := explored(t, s, 1, 3, Whole, 1)
	line, err := stored.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := Decode(line)
	if err != nil || !reflect.DeepEqual(read, stored) {
		t.Fatalf("%v: %+v became %+v", err, stored, read)
	}
	if err := read.Matches(s); err != nil {
		t.Error(err)
	}
	before := ran
	for want, other := range map[string]*scenarios.Scenario{
		"not of the scenario's own protocol": plain,
		"not of the program other":           clientsFrom(plain, scenarios.Origin{Client: "other"}, &ran),
	} {
		if err := read.Matches(other); err == nil || !strings.HasSuffix(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "holds the results of the program 'a worker', ") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	read.Identity.Clients = scenarios.Origin{} // as an earlier version would have stored it
	if err := read.Matches(s); err != nil {
		t.Error(err)
	}
	if ran == before {
		t.Error("a record without clients was accepted without a run")
	}
}
