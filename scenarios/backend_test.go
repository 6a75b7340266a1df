package scenarios

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// TestABackendIsKnownToFiles checks that after another kind of server is registered (Valkey, which stores keys as Redis
// does), scenario files can use these servers, protocols can lock on them, faults can strike them, and runs on them are
// judged.
func TestABackendIsKnownToFiles(t *testing.T) {
	before, setNX := backends, locks.Define(locks.SetNX)
	redis := setNX.Backend
	t.Cleanup(func() { backends, setNX.Backend = before, redis })
	backends = slices.Clone(before)
	RegisterBackend(&Backend{Kind: "valkey", Redis: true, Place: 9, Most: 5, Meaning: "how many Valkey servers",
		Cluster: func(s *Servers) Cluster { return newRedisCluster(s) }})
	setNX.Backend = "valkey"

	const onValkey = "name: valkey\nservers: {valkey: 1}\nlock: {protocol: setnx}\nwork: {hold: 1s}\n"
	for faults, want := range map[string]checker.Outcome{
		"": checker.Holds,
		"faults: [\"crash valkey-1 losing everything at 20ms, restart after 10ms\"]\n": checker.Violated,
	} {
		s := parseText(t, onValkey+faults)
		r, err := NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		if f := s.Judge(r).Verdict.Of(checker.MutualExclusion); f.Outcome != want {
			t.Errorf("%q: %v, want %v: %s", faults, f.Outcome, want, f.Explanation)
		}
		if names := s.Targets(); len(names.Redis) != 1 || names.Redis[0] != "valkey-1" {
			t.Errorf("faults can strike %v", names.Redis)
		}
	}
	for text, want := range map[string]string{
		strings.Replace(onValkey, "valkey: 1", "valky: 1", 1):  `did you mean "valkey"`,
		strings.Replace(onValkey, "valkey: 1", "valkey: 6", 1): "expected a number from 1 to 5",
		strings.Replace(onValkey, "valkey: 1", "etcd: 3", 1):   "setnx needs valkey servers, not etcd",
		strings.Replace(onValkey, "valkey: 1", "redis: 1, valkey: 1", 1): "keep only one of redis, etcd, zookeeper, " +
			"kubernetes, consul, valkey",
		strings.Replace(onValkey, "setnx", "fenced", 1): "fenced needs redis servers, not valkey",
	} {
		if _, err := Parse("f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nis answered with\n%v\nnot with %q", text, err, want)
		}
	}
	library := strings.Replace(onValkey, "setnx", "library", 1)
	const want = "libraries cannot connect to simulated valkey servers"
	if _, err := ParseWith("f.yaml", []byte(library), &Code{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a library before servers without a Front: %v", err)
	}
	if all, _ := Variables(); !slices.ContainsFunc(all, func(v Variable) bool { return v.Path == "servers.valkey" }) {
		t.Error("a sweep does not know servers.valkey")
	}
}

// TestFrontsCanBeCompared checks that sim.Front values can be compared with ==, so that code can tell whether a front
// was replaced.
func TestFrontsCanBeCompared(t *testing.T) {
	for _, s := range Wired() {
		if !reflect.ValueOf(s.Front()).Comparable() || s.Front() != s.Front() {
			t.Errorf("the front end of %s cannot be compared with itself", s.Called())
		}
	}
}
