//go:build linux

package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

func TestMain(m *testing.M) {
	process.Main()
	if os.Getenv("FENCEPOST_CLIENT") != "" {
		if err := live.Child(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestChoicesAreRead(t *testing.T) {
	const takes = "--servers takes simulated, redis, etcd, zookeeper, consul, the addresses of Redis servers as " +
		"HOST:PORT,HOST:PORT, or where to find these addresses, as env:VARIABLE or file:PATH"
	t.Setenv("FENCEPOST_TEST_SERVERS", "redis://:a,b@host:1/2\n  h:2 ")
	t.Setenv("FENCEPOST_TEST_NONE", " ")
	file := filepath.Join(t.TempDir(), "servers")
	if err := os.WriteFile(file, []byte("redis://u:p@h:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const password = "--servers must not contain a user and a password"
	for text, want := range map[string]string{
		"simulated":                  "",
		"redis":                      "",
		"zookeeper":                  "",
		"127.0.0.1:6379,b:1":         "[127.0.0.1:6379 b:1]",
		"redis://host:1/2":           "[redis://host:1/2]",
		"env:6379":                   "[env:6379]",
		"file:1":                     "[file:1]",
		"env:FENCEPOST_TEST_SERVERS": "[redis://:a,b@host:1/2 h:2]",
		"file:" + file:               "[redis://u:p@h:1]",
		"env:FENCEPOST_TEST_NONE":    "--servers env:FENCEPOST_TEST_NONE: it contains no addresses",
		"env:FENCEPOST_TEST_NO":      "--servers env:FENCEPOST_TEST_NO: it contains no addresses",
		"file:/nowhere":              "--servers: open /nowhere: no such file or directory",
		"redis://:pw@host:1/2":       password,
		"redis://:p,w@host:1/2":      password,
		"pw@host:1":                  password,
		"reddis":                     takes + ": did you mean redis?",
		"":                           takes,
	} {
		c, err := Parse(text)
		got := fmt.Sprint(c.addresses)
		if err != nil {
			got = err.Error()
		}
		if want == "" {
			want = "[]"
		}
		if got != want && !(want == password && strings.HasPrefix(got, want) && !strings.Contains(got, "pw")) {
			t.Errorf("%q: %v, want %q", text, got, want)
		}
		if err == nil && c.Real() != (text != Simulated) {
			t.Errorf("%q: real is %t", text, c.Real())
		}
	}
}

// TestAFileOfAddressesHasAnEnd checks that a file that is too large for an address list is rejected. Otherwise, a
// device such as /dev/zero would be read forever.
func TestAFileOfAddressesHasAnEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "addresses")
	if err := os.WriteFile(path, make([]byte, mostAddresses+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		path = "/dev/zero"
	}
	if _, err := Parse(inFile + path); err == nil || !strings.Contains(err.Error(), "cannot be an address file") {
		t.Error(err)
	}
}

// TestServersOfAnotherKindAreRefused checks that the error names the servers that can run the scenario.
func TestServersOfAnotherKindAreRefused(t *testing.T) {
	onEtcd := scenario(t, "servers: {etcd: 3}\nlock: {protocol: etcd}\n")
	onRedis := scenario(t, "servers: {redis: 1}\nlock: {protocol: set-nx-px}\n")
	onZooKeeper := scenario(t, "servers: {zookeeper: 3}\nlock: {protocol: zookeeper}\n")
	for _, test := range []struct {
		word string
		on   *scenarios.Scenario
		want string
	}{
		{Simulated, onEtcd, "<nil>"},
		{Simulated, onRedis, "<nil>"},
		{redis, onRedis, "<nil>"},
		{"127.0.0.1:1", onRedis, "<nil>"},
		{etcd, onEtcd, "<nil>"},
		{redis, onEtcd, "test has etcd servers: set --servers to etcd or simulated"},
		{etcd, onRedis, "test has redis servers: set --servers to redis or simulated"},
		{"127.0.0.1:1", onEtcd, "test has etcd servers: set --servers to etcd or simulated"},
		{zooKeeper, onZooKeeper, "<nil>"},
		{redis, onZooKeeper, "test has zookeeper servers: set --servers to zookeeper or simulated"},
		{consul, scenario(t, "servers: {consul: 3}\nlock: {protocol: consul}\n"), "<nil>"},
		{consul, onEtcd, "test has etcd servers: set --servers to etcd or simulated"},
		{zooKeeper, onRedis, "test has redis servers: set --servers to redis or simulated"},
	} {
		_, err := choice(t, test.word).Scenario(test.on)
		if got := fmt.Sprint(err); got != test.want {
			t.Errorf("%s on %s: %s, want %s", test.word, test.on.Servers.Backend, got, test.want)
		}
	}
}

func choice(t testing.TB, text string) Choice {
	t.Helper()
	c, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func scenario(t testing.TB, text string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Parse("test.yaml", []byte("name: test\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOnServersOfTheUserAllLocksHaveANameOfTheRun checks that on a user's servers, all locks have names that are unique
// to the run.
func TestOnServersOfTheUserAllLocksHaveANameOfTheRun(t *testing.T) {
	s := scenario(t, "servers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px}\nwork: {locks: [d/a, b/c]}\n")
	var last string
	for range 2 {
		own, err := choice(t, "127.0.0.1:1").Scenario(s)
		if err != nil {
			t.Fatal(err)
		}
		names := own.Locks()
		prefix, isA := strings.CutSuffix(string(names[0]), "d/a")
		if len(names) != 2 || !isA || string(names[1]) != prefix+"b/c" || !strings.HasPrefix(prefix, "fencepost/") ||
			prefix == last {
			t.Errorf("%v after %s", names, last)
		}
		if got := prefixOf(own); got != prefix {
			t.Errorf("the prefix is %s, and should be %s", got, prefix)
		}
		last = prefix
	}
	if same, err := choice(t, redis).Scenario(s); err != nil || same != s {
		t.Errorf("%v %v", same, err)
	}
}

func TestWhatTheServersDoNotKnowIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"servers: {redis: 1, replicas: 1, semi-sync: on}\nlock: {protocol: set-nx-px}\n": "semi-synchronous " +
			"replication",
		"servers: {redis: 1, version: tair}\nlock: {protocol: set-nx-px, release: cad}\n": "Tair, whose commands",
		"servers: {redis: 1, version: 8}\nlock: {protocol: set-nx-px, release: delex}\n":  "Redis 8, whose commands",
		"servers: {redis: 1, notify-keyspace-events: Kl}\nlock: {protocol: set-nx-px}\n":  "notify-keyspace-events",
	} {
		s := scenario(t, text)
		_, err := choice(t, redis).fleet(s, s.Plan(1), nil)
		var refused *live.RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s%v, want %q", text, err, want)
		}
	}
	s := scenario(t, "servers: {redis: 3}\nlock: {protocol: redlock}\n")
	if _, err := choice(t, "a:1,b:2").fleet(s, s.Plan(1), nil); err == nil ||
		err.Error() != "test has 3 servers, but --servers gives 2 addresses" {
		t.Error(err)
	}
}

// TestRealServers runs a scenario on a server started for the run, and on a user's server. On the user's server, the
// run must touch only its own keys and leave none of them behind.
func TestRealServers(t *testing.T) {
	testkit.Needs(t, "redis-server")
	host, port := testkit.FreeAddress(t)
	address := net.JoinHostPort(host, port)
	users := exec.Command("redis-server", "--port", port, "--bind", host, "--save", "", "--dir", t.TempDir())
	if err := users.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		users.Process.Kill()
		users.Wait()
	}()
	ask := func(command string) string {
		for end := time.Now().Add(20 * time.Second); ; {
			c, err := net.Dial("tcp", address)
			if err == nil {
				defer c.Close()
				fmt.Fprintf(c, "%s\r\n", command)
				b := make([]byte, 200)
				n, _ := c.Read(b)
				return string(b[:n])
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
	ask("SET mine 1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{Simulated, redis, address} {
		c := choice(t, word)
		s, err := c.Scenario(scenario(t, "servers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: 1s, "+
			"elapsed-check: on}\nwork: {cycles: 3, writes: 1, hold: 10ms}\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Run(live.Options{Scenario: s, Host: "127.0.0.1", Context: context.Background(),
			Patience: live.Patience, Own: process.Command{Path: self, Args: []string{"client"}}}, s.Plan(1))
		if err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		sections := 0
		for i := range r.History.Events {
			if e := &r.History.Events[i]; e.F == "acquire" && e.Type.String() == "ok" && e.Process != "probe" {
				sections++
			}
		}
		if sections != 6 {
			t.Errorf("%s: %d sections", word, sections)
		}
	}
	if got := ask("KEYS *"); got != "*1\r\n$4\r\nmine\r\n" {
		t.Errorf("the user's server holds %q", got)
	}
}

// TestRealMembersOfEtcd checks that a scenario on etcd has as many critical sections with real members, started for the
// run, as with simulated ones.
func TestRealMembersOfEtcd(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Needs(t, "etcd")
	for _, word := range []string{Simulated, etcd} {
		s := scenario(t, "servers: {etcd: 3}\nclients: 2\nlock: {protocol: etcd, ttl: 5s}\n"+
			"work: {cycles: 3, writes: 1, hold: 10ms}\n")
		r, err := own(t, word)(context.Background(), s)
		if err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		// the seventh key belongs to the probe, which acquires the lock after the clients' six sections
		const want = "6 sections, 7 keys set, 7 gone"
		if got := counted(r.History); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}
