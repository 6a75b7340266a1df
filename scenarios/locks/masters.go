package locks

import (
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// masters contains a lock's current masters, as far as its client knows: one master, or several for Redlock. Without a
// Sentinel, they are fixed. With a Sentinel, one of the client's tasks subscribes to the Sentinel and follows each
// switch, as client libraries do. A client that cannot reach the Sentinel keeps using the masters it knows.
type masters struct {
	// current contains the current master of each group, in the order of Config.Servers. It is empty until the first
	// query.
	current []sim.ProcessID
	// slots contains what a Redis Cluster client knows about slots. It is nil before the first request.
	slots *slots
}

// sentinelTimeout is how long a client waits for a reply from the Sentinel, and also how long it waits before it asks
// again. A client renews a subscription that has been silent for subscriptionCheck, because a Sentinel that has lost
// power does not send anything.
const (
	sentinelTimeout   = time.Second
	subscriptionCheck = 30 * time.Second
)

// findMasters asks the Sentinel for the masters once, and then starts a task that follows changes.
func (m *masters) findMasters(env sim.Env, c *Config) {
	if m.current != nil {
		return
	}
	m.current = slices.Clone(c.Servers)
	if c.Sentinel != "" {
		m.look(env, c)
		env.Go("topology", func(env sim.Env) { m.follow(env, c) })
	}
}

// look asks the Sentinel for the masters and subscribes to changes. It reports whether the Sentinel replied.
func (m *masters) look(env sim.Env, c *Config) bool {
	conn := sim.Conn{Server: c.Sentinel}
	requests := []sim.Request{{Conn: conn, Args: []string{"SUBSCRIBE", "switch-master"}, Phase: "subscribe"}}
	for _, group := range c.Servers {
		requests = append(requests,
			sim.Request{Conn: conn, Args: []string{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", string(group)},
				Phase: "master"})
	}
	replies := env.Call(sentinelTimeout, nil, requests...)
	for i := range m.current {
		address := replies[1+i].Array()
		if len(address) == 0 {
			env.Close(conn)
			return false
		}
		if name, ok := address[0].Bulk(); ok {
			m.current[i] = sim.ProcessID(name)
		}
	}
	return true
}

// follow keeps the masters up to date for as long as the client lives. The client is already subscribed, unless the
// Sentinel has not replied.
func (m *masters) follow(env sim.Env, c *Config) {
	conn := sim.Conn{Server: c.Sentinel}
	for {
		data, status := env.Receive(conn, subscriptionCheck)
		switch {
		case status == sim.Answered:
			m.switched(string(data))
		default: // no message in time, or connection closed: subscribe again
			env.Close(conn)
			for !m.look(env, c) {
				env.Sleep(sentinelTimeout)
			}
		}
	}
}

// switched processes the message "switch-master OLD NEW".
func (m *masters) switched(news string) {
	words := strings.Fields(news)
	if len(words) != 3 {
		return
	}
	if i := slices.Index(m.current, sim.ProcessID(words[1])); i >= 0 {
		m.current[i] = sim.ProcessID(words[2])
	}
}
