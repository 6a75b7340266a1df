package live

import (
	"fmt"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live/redisserver"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// request is a request that a connection's server has not answered.
type request struct {
	left         sim.Time // when
	namesServers bool     // its reply names servers by their addresses
	args         []string
	instead      string // the reply that the client gets instead; empty: the server's
}

// work is the environment that describes the work of a user's client.
func (k *client) work() []string {
	w := &k.config.Work
	env := []string{"FENCEPOST_LOCK=" + string(k.locks[0]), "FENCEPOST_TAKE=all",
		fmt.Sprintf("FENCEPOST_TTL_MS=%d", k.config.Lock.TTL.Milliseconds()),
		fmt.Sprintf("FENCEPOST_COMPUTE_MS=%d", w.Compute.Milliseconds()),
		fmt.Sprintf("FENCEPOST_HOLD_MS=%d", w.Hold.Milliseconds()),
		fmt.Sprintf("FENCEPOST_CYCLES=%d", w.Cycles)}
	if w.Take == scenarios.TakeOne {
		env[1] = "FENCEPOST_TAKE=one"
	}
	for i, name := range k.locks {
		env = append(env, fmt.Sprintf("FENCEPOST_LOCK_%d=%s", i+1, name))
	}
	for i, group := range k.stage.groups {
		env = append(env, fmt.Sprintf("FENCEPOST_MASTER_%d=%s", i+1, group[0]))
	}
	return env
}

// reached maps the names that servers have in the world to the ports at which the client reaches them; nil if no server
// names another, or the client is our own.
func (k *client) reached() *redisserver.Book {
	if k.stage.Command == "" || len(k.stage.groups) == 0 {
		return nil
	}
	to := map[redisserver.Address]redisserver.Address{}
	for server, at := range k.ports {
		if server != history.Resource && server != scenarios.Observer {
			to[redisserver.Address{Host: string(server), Port: resp.Port}] = at
		}
	}
	return redisserver.NewBook(to)
}

// namesServers reports whether the reply to a request to a server names others by their addresses. For the requests of
// a transaction it is EXEC's reply.
func (s *state) namesServers(args []string) bool {
	switch {
	case redisserver.NamesServers(args):
		s.within = true
		return true
	case strings.EqualFold(args[0], "MULTI"):
		s.within = false
	case strings.EqualFold(args[0], "EXEC"):
		return s.within
	}
	return false
}

// translated is a reply with the addresses as the client reaches them. From a Sentinel it may be a part of a value.
func (s *state) translated(b []byte, namesServers bool) []byte {
	switch {
	case s.conn.Server == scenarios.Observer:
		return s.said.Translate(b)
	case namesServers:
		return s.client.book.Translate(b)
	}
	return b
}
