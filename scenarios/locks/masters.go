package locks

import (
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// masters is what a client knows of who serves its lock. Without a Sentinel that is the one server there is. With one, a
// task of the client's subscribes to it and follows each switch, as client libraries do; a client that the Sentinel
// cannot reach goes on with the master it knew.
type masters struct {
	master sim.ProcessID
}

// sentinelTimeout is how long a client waits for the Sentinel before it asks again, and how often it sees to its
// subscription.
const sentinelTimeout = time.Second

func (m *masters) findMaster(env sim.Env, c *Config) {
	if m.master != "" {
		return
	}
	m.master = c.Servers[0]
	if c.Sentinel != "" {
		env.Go("topology", func(env sim.Env) { m.follow(env, c.Servers[0], c.Sentinel) })
	}
}

// follow keeps the master up to date for as long as the client lives.
func (m *masters) follow(env sim.Env, shard, sentinel sim.ProcessID) {
	conn := sim.Conn{Server: sentinel}
	for {
		replies := env.Call(sentinelTimeout, nil,
			sim.Request{Conn: conn, Args: []string{"SUBSCRIBE", "switch-master"}, Phase: "subscribe"},
			sim.Request{Conn: conn, Args: []string{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", string(shard)}, Phase: "master"})
		if replies[1].Status != sim.Answered {
			env.Close(conn)
			continue
		}
		if address := replies[1].Array(); len(address) > 0 {
			if name, ok := address[0].Bulk(); ok {
				m.master = sim.ProcessID(name)
			}
		}
		for {
			data, status := env.Receive(conn, sim.Forever)
			if status != sim.Answered {
				break
			}
			m.switched(string(data), shard)
		}
		env.Close(conn)
	}
}

// switched takes note of "switch-master SHARD NEW".
func (m *masters) switched(news string, shard sim.ProcessID) {
	if words := strings.Fields(news); len(words) == 3 && words[1] == string(shard) {
		m.master = sim.ProcessID(words[2])
	}
}
