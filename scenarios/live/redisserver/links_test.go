//go:build linux

package redisserver

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// onBoth calls play with a group of simulated servers, and then with a group of real ones. Both calls must result in
// the same records, the same promotions, and the same reports from the client. If the configuration has a Sentinel, it
// watches the servers.
func onBoth(t *testing.T, c Config, play func(c *client, say func(string))) {
	t.Helper()
	testkit.Needs(t, "redis-server")
	names := c.Groups[0]
	var said [2][]string
	at := func(i int) func(c *client) {
		return func(c *client) { play(c, func(s string) { said[i] = append(said[i], s) }) }
	}
	promoted := func(i int) func(old, new sim.ProcessID) {
		return func(old, new sim.ProcessID) { said[i] = append(said[i], fmt.Sprintf("%s to %s", old, new)) }
	}
	model := simulatedFleet(t, func(w *sim.World) {
		own := redis.Config{Group: &redis.Group{Promoted: promoted(0)}, Persistence: c.Persistence,
			MinReplicasToWrite: c.MinReplicasToWrite, MinReplicasMaxLag: c.MinReplicasMaxLag}
		for i, name := range names {
			node := own
			if node.Replicates = names[0]; i == 0 {
				node.Replicates, node.Replicas = "", names[1:]
			}
			w.AddServer(name, redis.New(node))
		}
		if c.Sentinel != "" {
			w.AddServer(c.Sentinel, redis.NewSentinel(redis.SentinelConfig{Groups: c.Groups, DownAfter: c.DownAfter,
				ReconfigureAfter: c.ReconfigureAfter}))
		}
	}, at(0))
	c.Promoted = promoted(1)
	reality := start(t, c).play(at(1))
	compareRecords(t, "links", linesOf(model), linesOf(reality), nil)
	if !slices.Equal(said[0], said[1]) {
		t.Errorf("said:\n   simulated %q\n   real      %q", said[0], said[1])
	}
}

var pair = []sim.ProcessID{"redis-1", "redis-1-replica-1"}

// watched returns a configuration with a master, its replica, and a Sentinel with a short down-after setting.
func watched() Config {
	return Config{Groups: [][]sim.ProcessID{pair}, Sentinel: "sentinel", DownAfter: 500 * time.Millisecond,
		ReconfigureAfter: time.Second}
}

// subscribe subscribes to the Sentinel's failover messages.
func (c *client) subscribe() sim.Conn {
	observer := sim.Conn{Server: "sentinel", N: 7}
	c.Call(patient, nil, sim.Request{Conn: observer, Phase: "subscribe", Args: []string{"SUBSCRIBE", shortSwitch}})
	return observer
}

// follows waits until a server is a replica and its reply to the given request equals want.
func (c *client) follows(name sim.ProcessID, want string, args ...string) {
	c.server = name
	for !strings.Contains(string(c.sendAs("", "ROLE").Raw()), "slave") || string(c.sendAs("", args...).Raw()) != want {
		c.conn++ // a server whose role changes closes all connections
		c.Sleep(10 * time.Millisecond)
	}
}

// TestMasterThatIsCutOff checks that a master that is cut off keeps granting locks until the cut is healed. Then it
// follows the server that the Sentinel has promoted.
func TestMasterThatIsCutOff(t *testing.T) {
	testkit.FullOnly(t)
	onBoth(t, watched(), func(c *client, say func(string)) {
		c.sendAs("client-1/1", "SET", "both", "1", "PX", "100000")
		say(string(c.sendAs("client-1/1", "WAIT", "1", "60000").Raw()))
		observer := c.subscribe()
		isolate := func(f func(from, to sim.ProcessID)) {
			for _, other := range []sim.ProcessID{pair[1], "sentinel"} {
				f(pair[0], other)
				f(other, pair[0])
			}
		}
		isolate(c.w.Cut)
		say(string(c.sendAs("client-1/2", "SET", "late", "2", "PX", "100000").Raw()))
		news, _ := c.Receive(observer, patient)
		say(string(news))
		say(string(c.sendAs("client-1/3", "SET", "lock", "3", "NX", "PX", "100000").Raw()))
		say(string(c.sendAs("client-1/3", "WAIT", "1", "300").Raw()))
		c.server = pair[1]
		say(string(c.sendAs("client-1/4", "SET", "lock", "4", "NX", "PX", "100000").Raw()))
		say(string(c.sendAs("", "GET", "late").Raw()))
		say(string(c.sendAs("", "GET", "both").Raw()))
		isolate(c.w.Heal)
		c.follows(pair[0], "$1\r\n4\r\n", "GET", "lock")
	})
}

// TestDeathBehindACut checks that data is lost if the master dies while a cut keeps it from sending the data to its
// replica, even if the cut is healed before the failover. The old master must follow the new one when it comes back.
func TestDeathBehindACut(t *testing.T) {
	testkit.FullOnly(t)
	c := watched()
	c.Persistence = store.Always
	onBoth(t, c, func(c *client, say func(string)) {
		c.sendAs("client-1/1", "SET", "both", "1", "PX", "100000")
		say(string(c.sendAs("client-1/1", "WAIT", "1", "60000").Raw()))
		observer := c.subscribe()
		c.w.Cut(pair[0], pair[1])
		c.sendAs("client-1/2", "SET", "lock", "2", "PX", "100000")
		say(string(c.sendAs("client-1/2", "WAIT", "1", "100").Raw()))
		c.w.Stop(pair[0], sim.LoseAllState)
		c.w.Heal(pair[0], pair[1])
		news, _ := c.Receive(observer, patient)
		say(string(news))
		c.server = pair[1]
		say(string(c.sendAs("", "GET", "both").Raw()))
		say(string(c.sendAs("client-1/3", "SET", "lock", "3", "NX", "PX", "100000").Raw()))
		c.w.Restart(pair[0])
		c.follows(pair[0], "$1\r\n3\r\n", "GET", "lock")
	})
}

// TestWhatWasSentBeforeADeathArrives checks that a master sends its data to the replica before it sends the reply to
// the client.
func TestWhatWasSentBeforeADeathArrives(t *testing.T) {
	testkit.FullOnly(t)
	for range 5 {
		onBoth(t, watched(), func(c *client, say func(string)) {
			observer := c.subscribe()
			c.sendAs("client-1/1", "SET", "lock", "1", "PX", "100000")
			c.w.Stop(pair[0], sim.PowerLoss)
			news, _ := c.Receive(observer, patient)
			say(string(news))
			c.server = pair[1]
			say(string(c.sendAs("", "GET", "lock").Raw()))
		})
	}
}

// TestCutsOfOneDirection cuts the link between a master and its replica in one direction only. Data travels in one
// direction and acknowledgments in the other, so only one of them stops.
func TestCutsOfOneDirection(t *testing.T) {
	testkit.FullOnly(t)
	onBoth(t, Config{Groups: [][]sim.ProcessID{pair}}, func(c *client, say func(string)) {
		reads := func(want, key string) {
			c.server = pair[1]
			c.until(want, "GET", key)
			c.server = pair[0]
		}
		c.w.Cut(pair[1], pair[0])
		c.sendAs("client-1/1", "SET", "lock", "1", "PX", "100000")
		say(string(c.sendAs("client-1/1", "WAIT", "1", "300").Raw()))
		reads("$1\r\n1\r\n", "lock") // the data has arrived, although its acknowledgment has not
		c.w.Heal(pair[1], pair[0])
		say(string(c.sendAs("client-1/1", "WAIT", "1", "60000").Raw()))
		c.w.Cut(pair[0], pair[1])
		c.sendAs("client-1/2", "SET", "lock", "2", "PX", "100000")
		say(string(c.sendAs("client-1/2", "WAIT", "1", "300").Raw()))
		c.server = pair[1]
		say(string(c.sendAs("", "GET", "lock").Raw()))
		c.server = pair[0]
		for i := range 50 { // the data arrives in order once the cut is healed
			c.sendAs("client-1/3", "RPUSH", "list", fmt.Sprint(i))
		}
		c.w.Heal(pair[0], pair[1])
		say(string(c.sendAs("client-1/3", "WAIT", "1", "60000").Raw()))
		reads("$1\r\n2\r\n", "lock")
		c.server = pair[1]
		say(string(c.sendAs("", "LRANGE", "list", "0", "-1").Raw()))
	})
}

// TestDelaysBetweenServers checks that a master's messages are delayed as planned: only the next one, or all of them
// for a while.
func TestDelaysBetweenServers(t *testing.T) {
	testkit.FullOnly(t)
	const late = 700 * time.Millisecond
	onBoth(t, Config{Groups: [][]sim.ProcessID{pair}}, func(c *client, say func(string)) {
		takes := func(of history.Attempt) (long bool) {
			c.sendAs(of, "SET", "lock", string(of), "PX", "100000")
			begin := c.Monotonic()
			say(string(c.sendAs(of, "WAIT", "1", "60000").Raw()))
			return c.Monotonic()-begin >= late-10*time.Millisecond // the SET was sent a moment earlier
		}
		c.w.Slow(pair[0], pair[1], late)
		say(fmt.Sprint(takes("client-1/1")))
		c.w.Slow(pair[0], pair[1], -late)
		struck := 0
		c.w.DelayNext(pair[0], pair[1], late, func() { struck++ })
		c.sendAs("client-1/2", "SET", "lock", "2", "PX", "100000")
		say(fmt.Sprint(string(c.sendAs("client-1/2", "WAIT", "1", "60000").Raw()), struck))
		c.w.Slow(pair[1], pair[0], late)
		say(fmt.Sprint(takes("client-1/3")))
	})
}

// TestMinReplicasBehindACut checks that a master rejects writes once its replica has been silent for too long, and
// accepts them when it hears from the replica again.
func TestMinReplicasBehindACut(t *testing.T) {
	testkit.FullOnly(t)
	c := Config{Groups: [][]sim.ProcessID{pair}, MinReplicasToWrite: 1, MinReplicasMaxLag: time.Second}
	onBoth(t, c, func(c *client, say func(string)) {
		say(string(c.sendAs("client-1/1", "SET", "lock", "1", "PX", "100000").Raw()))
		c.w.Cut(pair[1], pair[0])
		c.until("-NOREPLICAS Not enough good replicas to write.\r\n", "DEL", "other")
		say(string(c.sendAs("client-1/2", "SET", "lock", "2", "PX", "100000").Raw()))
		c.w.Heal(pair[1], pair[0])
		c.until(":0\r\n", "DEL", "other")
		say(string(c.sendAs("client-1/3", "SET", "lock", "3", "PX", "100000").Raw()))
	})
}

// TestServersThatComeBackFindEachOther cuts a master off from its replica, stops and restarts one of the two, and heals
// the cut. The replica must then get the master's data.
func TestServersThatComeBackFindEachOther(t *testing.T) {
	testkit.FullOnly(t)
	c := Config{Groups: [][]sim.ProcessID{pair}, Persistence: store.Always}
	onBoth(t, c, func(c *client, say func(string)) {
		for i, stop := range []struct {
			name sim.ProcessID
			how  sim.Stop
		}{{pair[1], sim.LoseAllState}, {pair[0], sim.PowerLoss}, {pair[0], sim.ShutDown},
			{pair[1], sim.ShutDown}} {
			c.w.Cut(pair[0], pair[1])
			c.w.Stop(stop.name, stop.how)
			c.w.Restart(stop.name)
			c.w.Heal(pair[0], pair[1])
			c.server, c.conn = pair[0], c.conn+1
			c.sendAs(history.Attempt(fmt.Sprint("client-1/", i+1)), "SET", "lock", fmt.Sprint(i), "PX", "100000")
			c.follows(pair[1], fmt.Sprintf("$1\r\n%d\r\n", i), "GET", "lock")
		}
	})
}

// TestConnectionsBetweenServersThatBreak checks that a replica reconnects after its master has closed the connection.
func TestConnectionsBetweenServersThatBreak(t *testing.T) {
	testkit.FullOnly(t)
	r := start(t, Config{Groups: [][]sim.ProcessID{pair}})
	r.play(func(c *client) {
		for i := range 3 {
			w, err := r.fleet.all[pair[0]].at.dial()
			if err != nil {
				t.Fatal(err)
			}
			killed, err := w.ask("CLIENT", "KILL", "TYPE", "replica")
			if err != nil || killed.Text != "1" {
				t.Errorf("of %s connections with replicas one was to be closed: %v", killed.Text, err)
			}
			w.close()
			c.server = pair[0]
			c.sendAs("client-1/1", "SET", "lock", fmt.Sprint(i))
			c.follows(pair[1], fmt.Sprintf("$1\r\n%d\r\n", i), "GET", "lock")
			if got := string(c.askOn(1, "ROLE")); !strings.Contains(got, "connected") {
				t.Errorf("the replica says %q", got)
			}
		}
	})
}

// TestNothingRemainsOpen checks that no ports, connections or goroutines remain, whichever step of Launch fails.
func TestNothingRemainsOpen(t *testing.T) {
	testkit.Needs(t, "redis-server")
	sockets := func() (n int) {
		list, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range list {
			if to, _ := os.Readlink(fd); strings.HasPrefix(to, "socket:") {
				n++
			}
		}
		return n
	}
	k := fleettest.Keeper(t)
	tried := map[string]func(){
		"a run": func() {
			r := startWith(t, k, watched())
			r.play(func(c *client) {
				c.w.Cut(pair[0], pair[1])
				c.w.Pause(pair[1])
				c.sendAs("client-1/1", "SET", "lock", strings.Repeat("x", 10<<20))
			})
			for _, s := range r.fleet.all {
				s.Resume()
			}
			r.fleet.End()
			r.l.clock.Close()
			for _, s := range r.fleet.all {
				s.Daemon.Kill()
			}
		},
		"a launch that fails": func() {
			c := watched()
			c.Keeper = k
			c.Groups = [][]sim.ProcessID{{"a", "b"}}
			script := testkit.Script(t, usualName, `case "$1" in --version) echo v=7.0;; *) exit 1;; esac`)
			path := os.Getenv("PATH")
			t.Setenv("PATH", filepath.Dir(script)+":"+path)
			defer t.Setenv("PATH", path)
			if _, err := Launch(c, nil); err == nil {
				t.Error("it did not fail")
			}
		},
	}
	tried["a run"]() // leaves the coroutines that the process keeps for further runs
	runtime.GC()
	open, running := sockets(), runtime.NumGoroutine()
	for name, run := range tried {
		run()
		for end := time.Now().Add(patient); sockets() > open || runtime.NumGoroutine() > running; runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatalf("%s leaves %d sockets and %d goroutines", name, sockets()-open, runtime.NumGoroutine()-running)
			}
		}
	}
	if l, err := net.Listen("tcp", "127.0.1.1:0"); err != nil {
		t.Error(err) // every address in 127.0.0.0/8 belongs to this machine
	} else {
		l.Close()
	}
}
