//go:build linux

package redisserver

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// TestFailoversAreRecordedAlike checks that simulated and real servers record the same events when a failover to the
// second of two replicas is ordered. Writes that the old master receives after the failover are lost when it follows
// the new master.
func TestFailoversAreRecordedAlike(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Needs(t, "redis-server")
	const reconfigureAfter = 3 * time.Second
	names := []sim.ProcessID{"redis-1", "redis-1-replica-1", "redis-1-replica-2"}
	var asked [2][]string
	played := 0
	play := func(c *client) {
		mine := &asked[played]
		c.sendAs("client-1/1", "SET", "lock", "1", "PX", "100000")
		c.sendAs("client-1/2", "HSET", "held", "by", "two")
		*mine = append(*mine, string(c.sendAs("client-1/1", "WAIT", "2", "60000").Raw()))
		observer := sim.Conn{Server: "sentinel", N: 7}
		c.Call(patient, nil, sim.Request{Conn: observer, Phase: "subscribe",
			Args: []string{"SUBSCRIBE", "switch-master"}})
		c.w.ServerFault("sentinel", sim.ServerFault{Kind: sim.FailOver, To: names[2]})
		news, _ := c.Receive(observer, patient)
		*mine = append(*mine, string(news))
		c.sendAs("client-1/3", "SET", "late", "3") // the old master does not know yet that it was deposed
		c.sendAs("client-1/4", "DEL", "held")
		c.server = names[2]
		c.until("$1\r\n1\r\n", "GET", "lock")
		c.sendAs("client-1/5", "SET", "lock", "5", "NX")
		c.sendAs("client-1/6", "SET", "new", "6", "PX", "100000")
		c.until("$-1\r\n", "GET", "late")
		for _, name := range []sim.ProcessID{names[0], names[1]} { // both follow the new master and have its data
			c.server, c.conn = name, c.conn+1
			for string(c.sendAs("", "GET", "new").Raw()) != "$1\r\n6\r\n" ||
				!strings.Contains(string(c.sendAs("", "ROLE").Raw()), "slave") {
				c.conn++
				c.Sleep(10 * time.Millisecond)
			}
		}
		address := c.Call(patient, nil, sim.Request{Conn: sim.Conn{Server: "sentinel"}, Phase: "who",
			Args: []string{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "redis-1"}})
		*mine = append(*mine, string(address[0].Raw()))
	}
	promoted := func(at int) func(old, new sim.ProcessID) {
		return func(old, new sim.ProcessID) { asked[at] = append(asked[at], fmt.Sprintf("%s to %s", old, new)) }
	}
	model := simulatedFleet(t, func(w *sim.World) {
		group := &redis.Group{Promoted: promoted(0)}
		w.AddServer(names[0], redis.New(redis.Config{Replicas: names[1:], Group: group}))
		w.AddServer(names[1], redis.New(redis.Config{Replicates: names[0], Group: group}))
		w.AddServer(names[2], redis.New(redis.Config{Replicates: names[0], Group: group}))
		w.AddServer("sentinel", redis.NewSentinel(redis.SentinelConfig{Groups: [][]sim.ProcessID{names},
			ReconfigureAfter: reconfigureAfter}))
	}, play)
	played = 1
	reality := start(t, Config{Groups: [][]sim.ProcessID{names}, Sentinel: "sentinel",
		ReconfigureAfter: reconfigureAfter, Promoted: promoted(1)}).play(play)
	compareRecords(t, "failover", linesOf(model), linesOf(reality), nil)
	if a, b := fmt.Sprintf("%q", asked[0]), fmt.Sprintf("%q", asked[1]); a != b {
		t.Errorf("answers:\n   simulated %s\n   real      %s", a, b)
	}
	if !strings.Contains(strings.Join(linesOf(reality), "\n"), string(history.LostInFailover)) {
		t.Errorf("nothing was lost in\n  %s", strings.Join(linesOf(reality), "\n  "))
	}
}

// TestSentinelFailsOverByItself checks that the Sentinel replaces a master that is paused for longer than the
// down-after setting, and that the old master follows the new one when it is resumed.
func TestSentinelFailsOverByItself(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Needs(t, "redis-server")
	names := []sim.ProcessID{"redis-1", "redis-1-replica-1"}
	const downAfter, reconfigureAfter = 500 * time.Millisecond, time.Second
	var asked [2][]string
	played := 0
	play := func(c *client) {
		mine := &asked[played]
		c.sendAs("client-1/1", "SET", "lock", "1", "PX", "100000")
		c.sendAs("client-1/1", "WAIT", "1", "60000")
		observer := sim.Conn{Server: "sentinel", N: 7}
		c.Call(patient, nil, sim.Request{Conn: observer, Phase: "subscribe",
			Args: []string{"SUBSCRIBE", "switch-master"}})
		c.w.Pause("redis-1")
		news, _ := c.Receive(observer, patient)
		*mine = append(*mine, string(news))
		c.server = names[1]
		c.sendAs("client-1/2", "DEL", "lock")
		c.sendAs("client-1/3", "SET", "lock", "3")
		c.w.Resume("redis-1")
		c.server = names[0]
		for !strings.Contains(string(c.sendAs("", "ROLE").Raw()), "slave") ||
			string(c.sendAs("", "GET", "lock").Raw()) != "$1\r\n3\r\n" {
			c.conn++
			c.Sleep(10 * time.Millisecond)
		}
	}
	model := simulatedFleet(t, func(w *sim.World) {
		group := &redis.Group{}
		w.AddServer(names[0], redis.New(redis.Config{Replicas: names[1:], Group: group}))
		w.AddServer(names[1], redis.New(redis.Config{Replicates: names[0], Group: group}))
		w.AddServer("sentinel", redis.NewSentinel(redis.SentinelConfig{Groups: [][]sim.ProcessID{names},
			DownAfter: downAfter, ReconfigureAfter: reconfigureAfter}))
	}, play)
	played = 1
	reality := start(t, Config{Groups: [][]sim.ProcessID{names}, Sentinel: "sentinel", DownAfter: downAfter,
		ReconfigureAfter: reconfigureAfter}).play(play)
	compareRecords(t, "failover", linesOf(model), linesOf(reality), nil)
	if a, b := fmt.Sprintf("%q", asked[0]), fmt.Sprintf("%q", asked[1]); a != b {
		t.Errorf("answers:\n   simulated %s\n   real      %s", a, b)
	}
}

// TestSentinelPingsAsShipped checks that the downAfter setting does not change how often a Sentinel sends pings. This
// interval also affects which replica is chosen, and when the Sentinel reconnects to a server. sentinel.c pings more
// often only if down-after is shorter than the interval.
func TestSentinelPingsAsShipped(t *testing.T) {
	testkit.Needs(t, "redis-server")
	for _, downAfter := range []time.Duration{0, 300 * time.Millisecond, time.Minute} {
		r := start(t, Config{Groups: [][]sim.ProcessID{{"redis-1", "redis-1-replica-1"}}, Sentinel: "sentinel",
			DownAfter: downAfter})
		if !r.fleet.seven {
			t.Skip("Redis before 7.0 does not say how often its Sentinel pings")
		}
		w, err := r.fleet.all["sentinel"].at.dial()
		if err != nil {
			t.Fatal(err)
		}
		periods, err := w.ask("SENTINEL", "DEBUG")
		w.close()
		var words []string
		for _, v := range periods.List {
			words = append(words, v.Text)
		}
		if all := strings.ToLower(strings.Join(words, " ")); !strings.Contains(all, "ping-period 1000 ") {
			t.Errorf("with down-after %v: %q, %v", downAfter, all, err)
		}
	}
}

// TestRealServersTellNamesAsSimulatedOnesDo checks that real servers, like simulated ones, send servers' names and
// never the addresses on which they are listening. Values that clients have set must not be changed.
func TestRealServersTellNamesAsSimulatedOnesDo(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Needs(t, "redis-server")
	r := start(t, Config{Groups: [][]sim.ProcessID{{"redis-1", "redis-1-replica-1"}}, Sentinel: "sentinel"})
	var own []string
	for _, s := range r.fleet.all {
		own = append(own, s.at.address[strings.LastIndexByte(s.at.address, ':')+1:], fmt.Sprint(s.Port.Number()))
	}
	taken := "127.0.0.1:" + strconv.Itoa(r.fleet.all["redis-1"].Port.Number())
	r.play(func(c *client) {
		ask := func(command, want string) {
			got := string(c.sendAs("", strings.Fields(command)...).Raw())
			if !strings.Contains(got, want) || strings.Contains(got, "127.0.0.1") {
				t.Errorf("%s: %q", command, got)
			}
			for _, port := range own {
				if strings.Contains(got, port) {
					t.Errorf("%s names port %s: %q", command, port, got)
				}
			}
		}
		c.server = "sentinel"
		ask("SENTINEL GET-MASTER-ADDR-BY-NAME redis-1", "*2\r\n$7\r\nredis-1\r\n$4\r\n6379\r\n")
		ask("SENTINEL REPLICAS redis-1", "$22\r\nredis-1-replica-1:6379\r\n")
		ask("SENTINEL MASTER redis-1", "$7\r\nredis-1\r\n$4\r\nport\r\n$4\r\n6379\r\n")
		ask("INFO sentinel", "address=redis-1:6379,slaves=1")
		c.askOn(3, "SUBSCRIBE", "+switch-master")
		c.w.ServerFault("sentinel", sim.ServerFault{Kind: sim.FailOver, To: "redis-1-replica-1"})
		want := "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$" +
			"43\r\nredis-1 redis-1 6379 redis-1-replica-1 6379\r\n"
		if got := c.hears(3); got != want {
			t.Errorf("a subscriber hears %q and not %q", got, want)
		}
		c.server = "redis-1"
		until := func(want string, command ...string) {
			for !strings.Contains(string(c.sendAs("", command...).Raw()), want) {
				c.conn++
				c.Sleep(10 * time.Millisecond)
			}
		}
		until("slave", "ROLE")
		ask("ROLE", "*5\r\n$5\r\nslave\r\n$17\r\nredis-1-replica-1\r\n:6379\r\n")
		ask("INFO replication", "master_host:redis-1-replica-1\r\nmaster_port:6379\r\n")
		c.server, c.conn = "redis-1-replica-1", c.conn+1
		until("state=online", "INFO")
		c.sendAs("", "MULTI")
		c.sendAs("", "ROLE")
		ask("EXEC", "*3\r\n$7\r\nredis-1\r\n$4\r\n6379\r\n")
		ask("INFO replication", "slave0:ip=redis-1,port=6379,state=online")
		c.sendAs("", "SET", "key", taken)
		if got, _ := c.sendAs("", "GET", "key").Bulk(); got != taken {
			t.Errorf("what was set as %s is %s", taken, got)
		}
	})
}
