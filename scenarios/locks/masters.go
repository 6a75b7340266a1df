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

// sentinelTimeout is how long a client waits for the Sentinel, and how long before it asks again. A subscription that has
// been silent for subscriptionCheck is made anew, since a Sentinel that lost power says nothing.
const (
	sentinelTimeout   = time.Second
	subscriptionCheck = 30 * time.Second
)

// findMaster asks the Sentinel once, and then has a task follow it.
func (m *masters) findMaster(env sim.Env, c *Config) {
	if m.master != "" {
		return
	}
	m.master = c.Servers[0]
	if c.Sentinel != "" {
		m.look(env, c)
		env.Go("topology", func(env sim.Env) { m.follow(env, c) })
	}
}

// look asks for the master and subscribes to its changes. It reports whether the Sentinel answered.
func (m *masters) look(env sim.Env, c *Config) bool {
	conn := sim.Conn{Server: c.Sentinel}
	replies := env.Call(sentinelTimeout, nil,
		sim.Request{Conn: conn, Args: []string{"SUBSCRIBE", "switch-master"}, Phase: "subscribe"},
		sim.Request{Conn: conn, Args: []string{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", string(c.Servers[0])}, Phase: "master"})
	address := replies[1].Array()
	if len(address) == 0 {
		env.Close(conn)
		return false
	}
	if name, ok := address[0].Bulk(); ok {
		m.master = sim.ProcessID(name)
	}
	return true
}

// follow keeps the master up to date for as long as the client lives. It begins with a subscription in place, or with
// none if the Sentinel did not answer.
func (m *masters) follow(env sim.Env, c *Config) {
	conn := sim.Conn{Server: c.Sentinel}
	for {
		data, status := env.Receive(conn, subscriptionCheck)
		switch {
		case status == sim.Answered:
			m.switched(string(data))
		default: // silent or closed: subscribe anew
			env.Close(conn)
			for !m.look(env, c) {
				env.Sleep(sentinelTimeout)
			}
		}
	}
}

// switched takes note of "switch-master OLD NEW".
func (m *masters) switched(news string) {
	if words := strings.Fields(news); len(words) == 3 && words[1] == string(m.master) {
		m.master = sim.ProcessID(words[2])
	}
}
