package redisserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/sentinel"
)

// TestFailoversTellTheSame orders a failover to the second of two replicas. What the old master is told afterwards is
// lost when it follows the new one.
func TestFailoversTellTheSame(t *testing.T) {
	needs(t, "redis-server")
	const reconfigureAfter = 3 * time.Second
	names := []sim.ProcessID{"redis-1", "redis-1-replica-1", "redis-1-replica-2"}
	var asked [2][]string
	played := 0
	play := func(c *client) {
		mine := &asked[played]
		c.as("client-1/1", "SET", "lock", "1", "PX", "100000")
		c.as("client-1/2", "HSET", "held", "by", "two")
		*mine = append(*mine, string(c.as("client-1/1", "WAIT", "2", "60000").Raw()))
		observer := sim.Conn{Server: "sentinel", N: 7}
		c.Call(patient, nil, sim.Request{Conn: observer, Phase: "subscribe",
			Args: []string{"SUBSCRIBE", "switch-master"}})
		c.w.ServerFault("sentinel", sim.ServerFault{Kind: sim.FailOver, To: names[2]})
		news, _ := c.Receive(observer, patient)
		*mine = append(*mine, string(news))
		c.as("client-1/3", "SET", "late", "3") // to who has been deposed and does not know
		c.as("client-1/4", "DEL", "held")
		c.server = names[2]
		c.until("$1\r\n1\r\n", "GET", "lock")
		c.as("client-1/5", "SET", "lock", "5", "NX")
		c.as("client-1/6", "SET", "new", "6", "PX", "100000")
		c.until("$-1\r\n", "GET", "late")
		for _, name := range []sim.ProcessID{names[0], names[1]} { // they follow, and have what it has
			c.server, c.conn = name, c.conn+1
			for string(c.as("", "GET", "new").Raw()) != "$1\r\n6\r\n" ||
				!strings.Contains(string(c.as("", "ROLE").Raw()), "slave") {
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
		w.AddServer("sentinel", sentinel.New(sentinel.Config{Groups: [][]sim.ProcessID{names},
			ReconfigureAfter: reconfigureAfter}))
	}, play)
	played = 1
	reality := start(t, Config{Groups: [][]sim.ProcessID{names}, Sentinel: "sentinel",
		ReconfigureAfter: reconfigureAfter, Promoted: promoted(1)}).play(play)
	same(t, "failover", tale(model), tale(reality), nil)
	if a, b := fmt.Sprintf("%q", asked[0]), fmt.Sprintf("%q", asked[1]); a != b {
		t.Errorf("answers:\n   simulated %s\n   real      %s", a, b)
	}
	if !strings.Contains(strings.Join(tale(reality), "\n"), string(history.LostInFailover)) {
		t.Errorf("nothing was lost in\n  %s", strings.Join(tale(reality), "\n  "))
	}
}
