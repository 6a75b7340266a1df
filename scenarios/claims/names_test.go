package claims

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// Short names made up of a few letters and signs work as lock names with each protocol, alone and together with similar
// names, if the format accepts them. A full run tries all protocols.
func TestEveryAllowedLockNameHoldsWithoutFaults(t *testing.T) {
	tried := newTally(t, "lock names")
	alone, beside := 3, 1
	if testkit.Full() {
		beside = 2
	}
	for _, d := range testkit.Sample(t, locks.Definitions()) {
		allowed := 0
		for _, name := range spelled("a-_.:/{}", alone) {
			if holdsUnder(t, d, name) {
				tried.done()
				allowed++
			}
		}
		for _, a := range spelled("a.:/", beside) {
			for _, b := range spelled("a.:/", beside) {
				for _, b := range []string{b, a + ":token", a + "/" + b, a + "/lock-", a + "b"} {
					if a != b && holdsUnder(t, d, a, b) {
						tried.done()
					}
				}
			}
		}
		least := 100
		if d.Name == locks.LeaseObject { // its names may only contain letters, digits, - and .
			least = 5
		}
		if allowed < least {
			t.Errorf("%s: of all names only %d are allowed", d.Name, allowed)
		}
	}
}

// spelled returns all words made up of the given letters, up to a maximum length.
func spelled(letters string, most int) (words []string) {
	if most == 0 {
		return nil
	}
	for _, c := range letters {
		words = append(words, string(c))
		for _, rest := range spelled(letters, most-1) {
			words = append(words, string(c)+rest)
		}
	}
	return words
}

// shortLived returns settings that give a lock a TTL of four seconds, or the protocol's minimum if that is longer.
func shortLived(d *locks.Definition) string {
	if d.Name == locks.LeaseObject {
		return "ttl: 4s, renew-deadline: 3s, retry-period: 1s"
	}
	return fmt.Sprint("ttl: ", max(4*time.Second, time.Duration(d.Setting("ttl").Form.Least)))
}

// holdsUnder reports whether the format accepts the lock names. If it does, holdsUnder checks that every client that
// requests the locks gets all of them.
func holdsUnder(t *testing.T, d *locks.Definition, names ...string) bool {
	t.Helper()
	text := fmt.Sprintf("name: names\nservers: {%s: 1}\nnetwork: {delay: 1ms}\nlimit: 60s\n"+
		"lock: {protocol: %s, %s}\nwork: {locks: [\"%s\"]}\n", d.Backend, d.Name, shortLived(d), strings.Join(names,
		`", "`))
	s, err := scenarios.Parse("names.yaml", []byte(text))
	if err != nil {
		return false
	}
	r, err := scenarios.NewRunner(s).Run(nemesis.Plan{Scenario: s.Name, Seed: 1})
	if err != nil {
		t.Fatalf("%s %q: %v", d.Name, names, err)
	}
	v := checker.Check(r.History)
	laws := []checker.Law{checker.MutualExclusion, checker.DeadlockFreedom, checker.FaultTolerance}
	if d.Name == locks.PermitList { // the server stores the free permits, so no acquire finds it empty
		laws = laws[:2]
	}
	for _, law := range laws {
		if f := v.Of(law); f.Outcome != checker.Holds {
			t.Errorf("%s %q: %s is %v %s", d.Name, names, law, f.Outcome, f.Cause)
		}
	}
	granted := map[history.Process]int{}
	for _, e := range r.History.Events {
		if e.F == history.Acquire && e.Type == history.OK {
			granted[e.Process]++
		}
	}
	for _, p := range r.History.Header.Clients {
		if granted[p] != len(names) {
			t.Errorf("%s %q: %s got %d of %d locks", d.Name, names, p, granted[p], len(names))
		}
	}
	return true
}

// A lock name is refused if the real servers refuse it or cannot tell it apart from another name in the scenario. The
// error gives the name's position.
func TestLockNamesThatAServiceCannotKeepApartAreRefused(t *testing.T) {
	for _, x := range []struct{ protocol, servers, work, want string }{
		{"zookeeper", "zookeeper", "[/a]",
			`5:16: no znode of ZooKeeper can have the name "/a": ` +
				`each part between slashes must be a name other than . and .. (did you mean "a"?)`},
		{"zookeeper", "zookeeper", "[x, a//b]",
			`5:19: no znode of ZooKeeper can have the name "a//b": ` +
				`each part between slashes must be a name other than . and .. (did you mean "a/b"?)`},
		{"zookeeper", "zookeeper", "[a/]", `(did you mean "a"?)`},
		{"zookeeper", "zookeeper", "[.]",
			`no znode of ZooKeeper can have the name ".": ` +
				`each part between slashes must be a name other than . and ..: write a name such as lock`},
		{"zookeeper", "zookeeper", "[a/b/.., c]", `(did you mean "a/b"?)`},
		{"lease-object", "kubernetes", "[Orders/1]",
			`5:16: "Orders/1" cannot be the name of a Kubernetes object: use only lower-case letters, digits, - ` +
				`and ., with a letter or digit at each end (did you mean "orders-1"?)`},
		{"lease-object", "kubernetes", "[x, -]",
			`5:19: "-" cannot be the name of a Kubernetes object: use only lower-case letters, digits, - and ., ` +
				"with a letter or digit at each end: write a name such as lock"},
		{"zookeeper", "zookeeper", "[a, a/b]", "5:19: the requests for lock a are the children of its znode, and " +
			"lock a/b would be among them: rename a/b, for example to a-b"},
		{"zookeeper", "zookeeper", "[a/b, a]", "5:21: the requests for lock a are the children of its znode, and " +
			"lock a/b would be among them: rename a/b, for example to a-b"},
		{"etcd", "etcd", "[a, a/b]", "5:19: the requests for lock a are the keys that begin with a/, and those " +
			"for lock a/b would be among them: rename a/b, for example to a-b"},
		{"etcd", "etcd", "[a/, a]", "5:20: the requests for lock a are the keys that begin with a/, and those " +
			"for lock a/ would be among them: rename a/, for example to a-"},
		{"fenced", "redis", "[\"a:token\", a]", "5:27: the key a:token is already the token counter of lock a: " +
			"use another name, for example a-token"},
	} {
		text := fmt.Sprintf("name: names\nservers: {%s: 1}\nlock:\n  protocol: %s\nwork: {locks: %s}\n", x.servers,
			x.protocol, x.work)
		_, err := scenarios.Parse("f.yaml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "f.yaml:5:") || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s %s:\n%v, want\n%s", x.protocol, x.work, err, x.want)
		}
	}
	// names in a single client's override, and the lock's own name
	for text, want := range map[string]string{
		"servers: {etcd: 1}\nlock: {protocol: etcd, name: a}\noverrides: {client-2: {work: {locks: " +
			"[a/b]}}}\n": "f.yaml:4:",
		"servers: {zookeeper: 1}\nlock: {protocol: zookeeper, name: " +
			"a/}\n": "f.yaml:3:",
	} {
		if _, err := scenarios.Parse("f.yaml", []byte("name: names\n"+text)); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s%v", text, err)
		}
	}
}
