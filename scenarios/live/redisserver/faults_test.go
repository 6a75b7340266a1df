//go:build linux

package redisserver

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// TestPausedServerDoesNothing checks that a pause stops the process and that requests that arrive in the meantime are
// carried out afterward. A key must still expire on time.
func TestPausedServerDoesNothing(t *testing.T) {
	testkit.Needs(t, "redis-server")
	play := func(c *client) {
		c.sendAs("client-1/1", "SET", "lock", "1", "PX", "150")
		c.w.Pause("redis-1")
		if got := c.askFor(300*time.Millisecond, "client-1/2", "SET", "lock", "2", "NX"); got != "" {
			t.Errorf("a paused server says %q", got)
		}
		c.w.Resume("redis-1")
		c.until("$1\r\n2\r\n", "GET", "lock") // the request had arrived before the pause
	}
	model := simulated(t, redis.Config{}, play)
	r := start(t, Config{})
	reality := r.play(func(c *client) {
		play(c)
		c.w.Pause("redis-1")
		pid := r.fleet.all["redis-1"].Daemon.PID()
		if state := stateOf(t, pid); state != "T" {
			t.Errorf("the process of a paused server is in state %s", state)
		}
		c.w.Resume("redis-1")
	})
	compareRecords(t, "pause", linesOf(model), linesOf(reality), nil)
}

// TestAnOperatorRemovesKeys deletes keys and flushes the server, as an operator would. The records must be the same as
// with the simulated server. Keys that do not exist, and keys that a client's own request has removed, must not be
// recorded as removed by the operator.
func TestAnOperatorRemovesKeys(t *testing.T) {
	testkit.Needs(t, "redis-server")
	remove := func(key history.Lock, why history.Why) sim.ServerFault {
		return sim.ServerFault{Kind: sim.RemoveKeys, Key: key, Why: why}
	}
	play := func(c *client) {
		c.sendAs("client-1/1", "SET", "lock", "1", "NX", "PX", "60000")
		c.sendAs("client-2/1", "HSET", "fields", "a", "1", "b", "2")
		c.w.ServerFault("redis-1", remove("lock", history.DeletedByOperator))
		c.until(":0\r\n", "EXISTS", "lock")
		c.w.ServerFault("redis-1", remove("lock", history.DeletedByOperator))
		c.sendAs("client-2/2", "SET", "lock", "2", "NX", "PX", "60000")
		c.sendAs("client-2/2", "DEL", "lock")
		c.sendAs("client-1/2", "SET", "lock", "3", "NX")
		c.w.ServerFault("redis-1", remove("fields", history.DeletedByOperator))
		c.until(":0\r\n", "EXISTS", "fields")
		c.sendAs("client-1/3", "SET", "other", "4", "NX")
		c.w.ServerFault("redis-1", remove("", history.FlushedByOperator))
		c.until(":0\r\n", "DBSIZE")
		c.sendAs("client-2/3", "SET", "lock", "5", "NX")
		c.sendAs("client-2/3", "FLUSHALL")
	}
	compareRecords(t, "removal", linesOf(simulated(t, redis.Config{}, play)),
		linesOf(start(t, Config{}).play(play)), nil)
}

// TestWhatAnOperatorCannotDoToRealServers checks that two operator faults are refused, and that the error says why.
func TestWhatAnOperatorCannotDoToRealServers(t *testing.T) {
	c := &Config{Groups: [][]sim.ProcessID{{"redis-1"}}}
	for kind, want := range map[nemesis.Kind]string{nemesis.EvictKey: "chooses by itself which key it evicts",
		nemesis.ClientPause: "through which the server is observed", nemesis.DeleteKey: "", nemesis.Flush: ""} {
		err := c.Can(nemesis.Fault{Kind: kind, Target: "redis-1", Lock: "lock"})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v", kind, err)
		}
	}
}

// TestStopOfAPausedServer checks that a server that is stopped during a pause is started again when the pause ends. It
// tries every kind of stop.
func TestStopOfAPausedServer(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Needs(t, "redis-server")
	for how := range stops {
		play := func(c *client) {
			c.sendAs("client-1/1", "SET", "lock", "1")
			c.w.Pause("redis-1")
			c.w.Stop("redis-1", how)
			c.w.Restart("redis-1")
			c.conn++
			c.w.Resume("redis-1")
			c.w.Pause("redis-1")
			c.w.Resume("redis-1")
			c.sendAs("client-1/2", "SET", "lock", "2", "NX")
		}
		model := simulated(t, redis.Config{Persistence: store.Always}, play)
		reality := start(t, Config{Persistence: store.Always}).play(play)
		compareRecords(t, stops[how], linesOf(model), linesOf(reality), nil)
	}
}

// TestClocksThatJump makes a server's wall clock jump forward and back. The server's keys must expire by that clock,
// and the records must equal those of the simulated server.
func TestClocksThatJump(t *testing.T) {
	testkit.Needs(t, "redis-server", "gcc")
	play := func(c *client) {
		c.sendAs("client-1/1", "SET", "short", "1", "PX", "60000")
		c.sendAs("client-1/1", "SET", "long", "1", "PX", "600000")
		c.w.Jump("redis-1", 30*time.Second)
		c.sendAs("client-1/2", "PEXPIRE", "long", "300000")
		if left := c.left("short"); left > 30*time.Second || left < 10*time.Second {
			t.Errorf("%v are left of 60 s after a jump by 30 s", left)
		}
		c.w.Jump("redis-1", -60*time.Second)
		if left := c.left("short"); left > 90*time.Second || left < 70*time.Second {
			t.Errorf("%v are left of 30 s after a jump by -60 s", left)
		}
		c.w.Jump("redis-1", 120*time.Second)
		c.sendAs("client-1/3", "SET", "short", "3", "NX", "PX", "60000")
		c.w.Jump("redis-1", time.Hour)
		c.until(":0\r\n", "EXISTS", "short", "long")
		c.Sleep(300 * time.Millisecond) // time for the simulated node's background cycle
	}
	jump := nemesis.Fault{Kind: nemesis.Jump, Target: "redis-1", By: time.Second}
	compareRecords(t, "jumps", linesOf(simulated(t, redis.Config{}, play)),
		linesOf(start(t, Config{}, jump).play(play)), nil)
}

// TestClocksThatDrift checks that a clock at ten times the true rate advances by at least 2.9 s in 300 ms, no matter
// how late the host is. A clock at a tenth of the true rate must advance by at most half the time that has passed.
func TestClocksThatDrift(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Needs(t, "redis-server", "gcc")
	drift := nemesis.Fault{Kind: nemesis.Drift, Target: "redis-1", PPM: 1000}
	start(t, Config{}, drift).play(func(c *client) {
		c.w.Drift("redis-1", 9_000_000)
		was := c.time()
		c.Sleep(300 * time.Millisecond)
		if passed := c.time() - was; passed < 2900*time.Millisecond {
			t.Errorf("%v have passed in 300 ms", passed)
		}
		c.sendAs("client-1/1", "SET", "lock", "1", "PX", "60000")
		c.w.Drift("redis-1", -9_900_000) // a tenth of the true rate
		was = c.time()
		begin := c.Monotonic()
		c.Sleep(300 * time.Millisecond)
		is := c.time()
		if passed, truly := is-was, c.Monotonic()-begin; passed > truly/2 {
			t.Errorf("%v have passed in %v", passed, truly)
		}
		if left := c.left("lock"); left < 59*time.Second {
			t.Errorf("%v are left", left)
		}
	})
}

// TestSlowFsyncHoldsAnswersBack checks that with appendfsync always, a reply is sent only after the fsync has ended.
func TestSlowFsyncHoldsAnswersBack(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Needs(t, "redis-server", "gcc")
	slow := nemesis.Fault{Kind: nemesis.SlowFsync, Target: "redis-1", By: time.Second, For: time.Second}
	start(t, Config{Persistence: store.Always}, slow).play(func(c *client) {
		c.w.ServerFault("redis-1", sim.ServerFault{Kind: sim.SlowFsync, By: 300 * time.Millisecond, Begin: true})
		begin := c.Monotonic()
		c.sendAs("client-1/1", "SET", "lock", "1")
		if took := c.Monotonic() - begin; took < 300*time.Millisecond {
			t.Errorf("the answer came after %v", took)
		}
		c.w.ServerFault("redis-1", sim.ServerFault{Kind: sim.SlowFsync, By: 300 * time.Millisecond})
		c.sendAs("client-1/2", "SET", "lock", "2")
	})
}

func (c *client) left(key string) time.Duration {
	reply := c.sendAs("", "PTTL", key)
	n, _ := reply.Int()
	return time.Duration(n) * time.Millisecond
}

// time reads the server's wall clock.
func (c *client) time() time.Duration {
	reply := c.sendAs("", "TIME")
	var parts [2]int
	for i, part := range reply.Array() {
		text, _ := part.Bulk()
		parts[i], _ = strconv.Atoi(text)
	}
	return time.Duration(parts[0])*time.Second + time.Duration(parts[1])*time.Microsecond
}

// TestWhatServersCannotSuffer checks that faults that cannot be injected into real servers are refused before anything
// starts.
func TestWhatServersCannotSuffer(t *testing.T) {
	usual := os.Getenv("PATH")
	c := Config{Groups: [][]sim.ProcessID{{"redis-1", "redis-1-replica-1"}, {"redis-2"}}, Persistence: store.Everysec}
	const alone = "no Sentinel watches redis-1, so nothing can order a failover"
	const stream = "redis-1 and redis-1-replica-1 are real servers, whose connection is a stream of bytes " +
		"without separate messages, so there is no message 3: delay the link at a given time instead"
	for line, want := range map[string]string{
		"cut redis-1 | redis-1-replica-1 at 1s for 1s":                 "",
		"cut client-1 redis-2 -> redis-1 at 1s for 1s":                 "",
		"delay redis-1 -> redis-1-replica-1 by 10ms at 1s for 1s":      "",
		"delay redis-1 -> redis-1-replica-1 by 10ms at 1s":             "",
		"delay message 3 of redis-1 -> redis-1-replica-1 by 10ms":      stream,
		"delay message 3 of client-1 -> redis-1 by 10ms":               "",
		"fail over redis-1 to redis-1-replica-1 at 1s":                 alone,
		"cut client-1 | redis-1 at 1s for 1s":                          "",
		"delay client-1 -> redis-1 by 10ms at 1s":                      "",
		"break client-1 | redis-1 before reply 3":                      "",
		"pause redis-1 for 1s at 1s":                                   "",
		"pause client-1 for 1s at 1s":                                  "",
		"crash redis-2 losing everything at 1s, restart after 1s":      "",
		"shut down redis-2 at 1s, restart after 1s":                    "",
		"jump client-1 clock by +1s at 1s":                             "",
		"crash redis-2 losing unsynced writes at 1s, restart after 1s": "gcc",
		"jump redis-1 clock by +1s at 1s":                              "gcc",
		"drift redis-1 clock by +100ppm from 1s":                       "gcc",
		"slow fsync of redis-1 by 1s at 1s for 1s":                     "gcc",
	} {
		f, err := nemesis.Parse(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		for _, path := range []string{usual, t.TempDir()} {
			t.Setenv("PATH", path)
			want := strings.Replace(want, "gcc", process.ErrNoCompiler.Error(), 1)
			if _, err := exec.LookPath("gcc"); err == nil && want == process.ErrNoCompiler.Error() {
				want = ""
			}
			got := ""
			if err := c.Can(f); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s:\n got %s\nwant %s", line, got, want)
			}
		}
		t.Setenv("PATH", usual)
	}
}
