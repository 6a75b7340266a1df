//go:build linux

package live

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// askWhole sends a command and returns the complete reply.
func (w *wire) askWhole(args ...string) string {
	fmt.Fprintf(w, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(w, "$%d\r\n%s\r\n", len(a), a)
	}
	return w.next()
}

func (w *wire) next() string {
	var b []byte
	for resp.Size(b) == 0 {
		c, err := w.in.ReadByte()
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		b = append(b, c)
	}
	return string(b)
}

// follows is a client that checks that the Sentinel and the servers name only addresses that the client can reach,
// before and after a failover.
func follows(redis, resource *wire, lock string) {
	master, replica := portOf("FENCEPOST_REDIS_1"), portOf("FENCEPOST_REDIS_2")
	name := os.Getenv("FENCEPOST_MASTER_1")
	expect := func(got, want string) {
		if !strings.Contains(got, want) || strings.Contains(got, "6379") || strings.Contains(got, "redis-1-replica-1") {
			fmt.Printf("%q, and not %q\n", got, want)
			os.Exit(1)
		}
	}
	bulk := func(text string) string { return string(sim.AppendBulk(nil, text)) }
	at := func(port string) string { return bulk("127.0.0.1") + bulk(port) }
	fields := func(port string) string { return bulk("ip") + bulk("127.0.0.1") + bulk("port") + bulk(port) }
	listeners := []*wire{}
	for _, protocol := range []string{"2", "3"} {
		sentinel, listener := dialTo("FENCEPOST_SENTINEL"), dialTo("FENCEPOST_SENTINEL")
		sentinel.askWhole("HELLO", protocol)
		expect(sentinel.askWhole("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name), "*2\r\n"+at(master))
		expect(sentinel.askWhole("SENTINEL", "MASTERS"), fields(master))
		expect(sentinel.askWhole("SENTINEL", "MASTER", name), bulk("name")+bulk(name)+fields(master))
		for _, word := range []string{"REPLICAS", "SLAVES"} {
			expect(sentinel.askWhole("SENTINEL", word, name), bulk("name")+bulk("127.0.0.1:"+replica)+fields(replica))
		}
		expect(sentinel.askWhole("SENTINEL", "SENTINELS", name), "*0\r\n")
		expect(sentinel.askWhole("INFO"), "name="+name+",status=ok,address=127.0.0.1:"+master+",")
		listener.askWhole("HELLO", protocol)
		listener.askWhole("SUBSCRIBE", "+switch-master")
		listeners = append(listeners, listener)

		redis, second := dialTo("FENCEPOST_REDIS_1"), dialTo("FENCEPOST_REDIS_2")
		redis.askWhole("HELLO", protocol)
		second.askWhole("HELLO", protocol)
		expect(redis.askWhole("ROLE"), at(replica))
		expect(redis.askWhole("INFO", "replication"), "ip=127.0.0.1,port="+replica+",")
		expect(second.askWhole("ROLE"), bulk("127.0.0.1")+":"+master+"\r\n")
		expect(second.askWhole("INFO"), "master_host:127.0.0.1\r\nmaster_port:"+master+"\r\n")
		redis.askWhole("MULTI")
		redis.askWhole("ROLE")
		expect(redis.askWhole("EXEC"), at(replica))
		redis.askWhole("MULTI")
		redis.askWhole("ECHO", "redis-1:6379")
		if got := redis.askWhole("EXEC"); got != "*1\r\n"+bulk("redis-1:6379") { // a value that the client itself wrote
			fmt.Printf("what it has said itself is %q\n", got)
			os.Exit(1)
		}
	}
	resource.ask("FENCEPOST", "ACQUIRING", lock)
	redis.ask("SET", lock, "v", "NX", "PX", "5000")
	redis.ask("WAIT", "1", "0")
	resource.ask("FENCEPOST", "ACQUIRED", lock, "v")
	for _, l := range listeners {
		expect(l.next(), bulk(name+" 127.0.0.1 "+master+" 127.0.0.1 "+replica))
	}
	resource.ask("FENCEPOST", "RELEASING", lock, "v")
	if got := dialTo("FENCEPOST_REDIS_2").ask("DEL", lock); got != ":1" {
		fmt.Println("the new master had no lock:", got)
		os.Exit(1)
	}
	resource.ask("FENCEPOST", "RELEASED", lock, "v")
}

func portOf(variable string) string {
	u, _ := url.Parse(os.Getenv(variable))
	return u.Port()
}

// TestAClientReachesTheServersThatAreNamedToIt checks that a Sentinel and the servers name only addresses that the
// client can reach, in RESP2 and RESP3, before and after a failover.
func TestAClientReachesTheServersThatAreNamedToIt(t *testing.T) {
	t.Parallel()
	s := scenario(t, "set-nx-px", "servers: {redis: 1, replicas: 1}", "clients: 1", "work: {cycles: 1}",
		"lock: {protocol: set-nx-px, ttl: 5s}",
		"faults: [fail over redis-1 to redis-1-replica-1 after acquired by client-1]")
	r, err := run(t, s, "follows")
	if err != nil {
		t.Fatal(err)
	}
	if got := outcomes(r, excluding...); got != "holds; holds; unchecked; holds; holds" {
		t.Error(got)
	}
}

// TestTheEnvironmentDescribesAClientsWork checks that a client's environment variables describe its own work and not
// another client's.
func TestTheEnvironmentDescribesAClientsWork(t *testing.T) {
	s := scenario(t, "set-nx-px", "servers: {redis: 2, replicas: 1}", "lock: {protocol: redlock, ttl: 1500ms}",
		"work: {compute: 300ms, hold: 70ms, cycles: 3, locks: [a, b]}",
		"overrides: {client-2: {work: {locks: [b], take: one, cycles: 4}}}")
	st := &stage{Options: Options{Scenario: s}, groups: s.Targets().Groups}
	for i, want := range []string{
		"LOCK=a TAKE=all TTL_MS=1500 COMPUTE_MS=300 HOLD_MS=70 CYCLES=3 LOCK_1=a LOCK_2=b " +
			"MASTER_1=redis-1 MASTER_2=redis-2",
		"LOCK=b TAKE=one TTL_MS=1500 COMPUTE_MS=300 HOLD_MS=70 CYCLES=4 LOCK_1=b MASTER_1=redis-1 MASTER_2=redis-2",
	} {
		got := strings.Join(newClient(st, &s.Clients[i], 0).work(), " ")
		if got = strings.ReplaceAll(got, "FENCEPOST_", ""); got != want {
			t.Errorf("the environment of client %d has %s, want %s", i+1, got, want)
		}
	}
}

// TestWhatALeaseCountsOn checks which grants determine a client's lease. If a master and its replicas have granted the
// lock several times, the most recent grant counts. If the client made several attempts, only grants to its most recent
// attempt count.
func TestWhatALeaseCountsOn(t *testing.T) {
	const lock = "lock"
	set := func(server sim.ProcessID, value string, until sim.Time) history.Event {
		return history.Event{F: history.KeySet, Process: server, Lock: lock, Of: "client-1/1", Value: value,
			Until: until}
	}
	prolonged := func(server sim.ProcessID, until sim.Time) history.Event {
		return history.Event{F: history.KeyProlonged, Process: server, Lock: lock, By: "client-1/1", Until: until}
	}
	deleted := func(server sim.ProcessID) history.Event {
		return history.Event{F: history.KeyGone, Process: server, Lock: lock, By: "client-1/1", Why: history.Deleted}
	}
	for name, test := range map[string]struct {
		groups [][]sim.ProcessID
		events []history.Event
		until  sim.Time
		on     string
	}{
		"another master now": {[][]sim.ProcessID{{"redis-1", "replica"}}, []history.Event{set("redis-1", "v", 10),
			set("replica", "v", 20)}, 20, "[replica]"},
		"who is late with a release": {[][]sim.ProcessID{{"redis-1", "replica"}},
			[]history.Event{set("redis-1", "v", 10), set("replica", "v", 20), deleted("redis-1")}, 20, "[replica]"},
		"prolonged by another master": {[][]sim.ProcessID{{"redis-1", "replica"}},
			[]history.Event{set("redis-1", "v", 10), prolonged("replica", 30)}, 30, "[replica]"},
		"another try": {nil, []history.Event{set("redis-1", "u", 10), set("redis-2", "v", 20), set("redis-3", "v", 21)},
			20, "[redis-2 redis-3]"},
		"a try that was given back": {nil, []history.Event{set("redis-1", "v", 10), set("redis-2", "v", 20),
			deleted("redis-1")}, 20, "[redis-2]"},
		"by another name": {nil, []history.Event{set("redis-1", "u", 10), set("redis-2", "w", 20)}, 10,
			"[redis-1 redis-2]"},
	} {
		st := &stage{groups: test.groups}
		h := &hold{step: acquiring, attempt: "client-1/1"}
		k := &client{stage: st, holds: map[history.Lock]*hold{lock: h}}
		for i := range test.events {
			k.keyed(&test.events[i])
			h.answered(test.events[i].Process, 1, 2)
		}
		h.settle("v")
		g, _ := h.grant(sim.New(0, sim.Options{}), 1, &report{})
		if got := fmt.Sprint(g.Counted); got != test.on || g.Until.At != test.until.Duration() {
			t.Errorf("%s: until %v, on %s", name, g.Until.At, got)
		}
	}
}

// TestAClientIsGivenTheAddressesOfItsServers checks that a client finds each server's address in an environment
// variable named after the server, and that the documentation for client authors lists this variable.
func TestAClientIsGivenTheAddressesOfItsServers(t *testing.T) {
	for servers, want := range map[string]string{
		"{etcd: 3}, lock: {protocol: etcd}":               "FENCEPOST_ETCD=http://a:1,http://b:2",
		"{zookeeper: 3}, lock: {protocol: zookeeper}":     "FENCEPOST_ZOOKEEPER=a:1,b:2",
		"{kubernetes: 3}, lock: {protocol: lease-object}": "FENCEPOST_KUBERNETES=http://a:1,http://b:2",
		"{consul: 3}, lock: {protocol: consul}":           "FENCEPOST_CONSUL=http://a:1,http://b:2",
	} {
		s, err := scenarios.Parse("f.yaml", []byte("{name: f, servers: "+servers+"}"))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Servers.Variable([]string{"a:1", "b:2"}); got != want {
			t.Errorf("%s: %s, want %s", servers, got, want)
		}
		if name, _, _ := strings.Cut(want, "="); !strings.Contains(Reporting(), "  "+name+" ") {
			t.Errorf("the description does not name %s", name)
		}
	}
}
