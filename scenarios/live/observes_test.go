//go:build linux && amd64

package live

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// A program's output begins with the lines in firstTwo. If the key is lost, it ends with the lines in keyLost.
var (
	firstTwo = []string{"0.0 0.0 0.0 client-1", "1.0 1.0 0.0 client-1"}
	keyLost  = []string{"2.0 2.0 0.0 nobody", "3.0 3.0 0.0 nobody", fifth}
)

const third, fourth, fifth = "2.0 2.0 0.0 client-1", "3.0 3.0 0.0 client-1", "4.0 4.0 0.0 nobody"

// seen lists faults of each kind. sees contains the lines that a program prints under these faults, except for its
// first two lines.
var seen = []struct{ faults, sees []string }{
	{nil, []string{third, fourth, fifth}},
	{[]string{"pause client-1 for 3s at 2500ms"}, []string{third, "5.5 5.5 0.0 nobody", "6.5 6.5 0.0 nobody"}},
	{[]string{"jump client-1 clock by +1h at 2500ms"}, []string{third, "3.0 3603.0 0.0 client-1",
		"4.0 3604.0 0.0 nobody"}},
	// The key expires when the client's slow clock shows 2.8 s.
	{[]string{"drift client-1 clock by -200000ppm from 0s"}, []string{third, "3.0 3.0 0.0 nobody", fifth}},
	{[]string{"crash client-1 at 2500ms"}, []string{third}},
	{[]string{"cut client-1 | redis-1 at 1500ms for 1200ms"}, []string{"2.0 2.0 0.5 TimeoutError",
		"3.5 3.5 0.0 nobody", "4.5 4.5 0.0 nobody"}},
	{[]string{"delay client-1 -> redis-1 by 300ms at 1500ms for 1s"}, []string{"2.0 2.0 0.6 client-1",
		"3.6 3.6 0.0 nobody", "4.6 4.6 0.0 nobody"}},
	{[]string{"delay the 3rd GET of client-1 to redis-1 by 300ms"}, []string{"2.0 2.0 0.3 client-1",
		"3.3 3.3 0.0 client-1", "4.3 4.3 0.0 nobody"}},
	{[]string{"delay the answer to the 3rd GET of client-1 to redis-1 by 300ms"}, []string{
		"2.0 2.0 0.3 client-1", "3.3 3.3 0.0 client-1", "4.3 4.3 0.0 nobody"}},
	{[]string{"break client-1 | redis-1 before the answer to the 3rd GET"}, []string{
		"2.0 2.0 0.0 ConnectionError", fourth, fifth}},
	// The server's replies to the new connection, and to AUTH, INCR and GET, are slow.
	{[]string{"break client-1 | redis-1 before the answer to the 3rd GET",
		"delay redis-1 -> client-1 by 100ms at 2500ms for 1s"}, []string{"2.0 2.0 0.0 ConnectionError",
		"3.0 3.0 0.4 client-1", "4.4 4.4 0.0 nobody"}},
	{[]string{"pause redis-1 for 1200ms at 1500ms"}, []string{"2.0 2.0 0.5 TimeoutError", "3.5 3.5 0.0 nobody",
		"4.5 4.5 0.0 nobody"}},
	{[]string{"jump redis-1 clock by +1h at 1500ms"}, keyLost},
	{[]string{"drift redis-1 clock by +500000ppm from 0s"}, []string{third, "3.0 3.0 0.0 nobody", fifth}},
	{[]string{"crash redis-1 losing everything at 1500ms, restart after 1s"}, []string{
		"2.0 2.0 0.5 TimeoutError", "3.5 3.5 0.0 nobody", "4.5 4.5 0.0 nobody"}},
	// The server's host is up and refuses connections.
	{[]string{"shut down redis-1 at 1500ms, restart after 1s"}, []string{"2.0 2.0 0.0 ConnectionError", fourth,
		fifth}},
	// The old master becomes a replica.
	{[]string{"fail over redis-1 to redis-1-replica-1 at 1500ms"}, []string{third, "3.0 3.0 0.0 ReadOnlyError",
		"4.0 4.0 0.0 ReadOnlyError"}},
	{[]string{"slow fsync of redis-1 by 100ms at 1500ms for 1s"}, []string{"2.0 2.0 0.1 client-1",
		"3.1 3.1 0.0 client-1", "4.1 4.1 0.0 nobody"}},
	{[]string{"evict key of lock on redis-1 at 1500ms"}, keyLost},
	{[]string{"delete key of lock on redis-1 at 1500ms"}, keyLost},
	{[]string{"flush redis-1 at 1500ms"}, keyLost},
	{[]string{"client pause on redis-1 for 1s at 1800ms"}, []string{"2.0 2.0 0.5 TimeoutError",
		"3.5 3.5 0.0 nobody", "4.5 4.5 0.0 nobody"}},
}

// TestEachKindOfFaultStrikesAProgram checks that a program observes the effects of each kind of fault on itself, on its
// server and on the network. The program sets a key that expires after 3.5 s. It reads this key five times, waiting for
// a second each time. It prints how far its monotonic clock and its wall clock have advanced, how long the reply took,
// and the reply.
func TestEachKindOfFaultStrikesAProgram(t *testing.T) {
	redisPy(t) // what the program needs
	const text = "name: seen\nservers: {redis: 1, replicas: 1, reconfigure-after: 200ms, persistence: " +
		"{append-fsync: always}}\nclients: 1\nlock: {protocol: set-nx-px, ttl: 3500ms}\nlimit: 60s\n"
	plain, err := scenarios.Parse("seen.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := inVirtualTimeOf(t, plain, python+" testdata/observes.py")
	struck := []nemesis.Kind{nemesis.ExpireSession} // Redis has no sessions; see the next test
	for _, c := range seen {
		r, err := planned(t, s, 2, c.faults...)
		if err != nil {
			t.Fatal(err)
		}
		var sees []string
		for _, e := range r.History.Events {
			if e.F == history.Write && e.Type == history.Invoke {
				sees = append(sees, e.Value)
			}
		}
		if want := slices.Concat(firstTwo, c.sees); !slices.Equal(sees, want) {
			t.Errorf("%q: it sees\n%q, want\n%q", c.faults, sees, want)
		}
		for _, line := range c.faults {
			f, _ := nemesis.ParseFor(line, s.Targets())
			struck = append(struck, f.Kind)
		}
	}
	for _, k := range nemesis.Kinds {
		if !slices.Contains(struck, k) {
			t.Errorf("no program sees what %q does", k)
		}
	}
}

// TestTheSessionOfAProgramExpires checks that if the servers expire the session of a program using kazoo's lock,
// another program gets the lock while the first one is still working.
func TestTheSessionOfAProgramExpires(t *testing.T) {
	testkit.ThoroughOnly(t)
	if err := exec.Command(python, "-c", "import redis, kazoo.recipe.lock").Run(); err != nil {
		testkit.Lacks(t, fmt.Errorf("%s has no kazoo: %w", python, err))
	}
	s := inVirtualTime(t, "zookeeper-session-expiry", python+" workers/kazoo/worker.py")
	for fault, want := range map[string]checker.Outcome{"expire session of client-1 after acquired": checker.Violated,
		"expire session of client-2 at 500ms": checker.Holds} {
		r, err := planned(t, s, 2, fault)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Judge(r).Verdict.Of(checker.MutualExclusion); got.Outcome != want {
			t.Errorf("%s: %v by %v, want %v", fault, got.Outcome, got.Cause, want)
		}
	}
}
