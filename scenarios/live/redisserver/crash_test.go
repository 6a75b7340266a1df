//go:build linux

package redisserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// crash stops the server, and starts it again after the given downtime.
func (c *client) crash(how sim.Stop, down time.Duration) {
	at := c.w.Now()
	c.w.At(at, func() { c.w.Stop(c.server, how) })
	c.w.At(at+history.Of(down), func() { c.w.Restart(c.server) })
	c.Sleep(down + time.Millisecond)
	c.conn++
}

var stops = map[sim.Stop]string{sim.ShutDown: "shut down", sim.PowerLoss: "power loss",
	sim.LoseAllState: "all state lost"}

// TestRestartsTellTheSame checks that simulated and real servers lose the same data when they stop. It tests servers
// without an append-only file, and servers with one that is synced after each write, once a second, or much later.
func TestRestartsTellTheSame(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Needs(t, "redis-server", "gcc")
	unsynced := nemesis.Fault{Kind: nemesis.Crash, Target: "redis-1", Loss: nemesis.LosesUnsynced}
	slow := nemesis.Fault{Kind: nemesis.SlowFsync, Target: "redis-1", By: time.Hour, For: time.Hour}
	for _, persistence := range []store.Policy{store.None, store.Everysec, store.Always, store.No} {
		for _, how := range []sim.Stop{sim.ShutDown, sim.PowerLoss, sim.LoseAllState} {
			play := func(c *client) {
				c.sendAs("client-1/1", "SET", "kept", "1", "PX", "100000")
				c.sendAs("client-1/1", "HSET", "held", "by", "one")
				c.sendAs("client-1/2", "SET", "short", "2", "PX", "250")
				if persistence == store.Everysec {
					c.Sleep(3 * time.Second) // time for two fsyncs
				}
				if how == sim.PowerLoss {
					c.w.ServerFault("redis-1", sim.ServerFault{Kind: sim.SlowFsync, By: time.Hour,
						Begin: persistence == store.Everysec})
				}
				if persistence == store.Everysec {
					// this write is synced by the last fsync, which never ends if the power is lost
					c.sendAs("client-1/3", "SET", "first", "3")
					c.Sleep(2 * time.Second)
				}
				c.sendAs("client-1/4", "SET", "kept", "4", "PX", "100000")
				c.sendAs("client-1/5", "SET", "new", "5")
				c.sendAs("client-1/6", "HSET", "held", "by", "six", "and", "six")
				c.crash(how, 300*time.Millisecond)
				c.sendAs("", "EXISTS", "kept")
				c.sendAs("client-1/7", "SET", "kept", "7", "NX", "PX", "100000")
			}
			name := fmt.Sprintf("%v, %s", persistence, stops[how])
			model := simulated(t, redis.Config{Persistence: persistence}, play)
			reality := start(t, Config{Persistence: persistence}, unsynced, slow).play(play)
			compareRecords(t, name, linesOf(model), linesOf(reality), nil)
			if lost := strings.Count(strings.Join(linesOf(reality), "\n"), "lost in crash"); (lost > 0) !=
				(persistence == store.None || how == sim.LoseAllState ||
					how == sim.PowerLoss && persistence != store.Always) {
				t.Errorf("%s: %d were lost in\n  %s", name, lost, strings.Join(linesOf(reality), "\n  "))
			}
		}
	}
}
