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

// request is a request that was sent on a connection and has not been answered yet.
type request struct {
	left         sim.Time // when the request left the client
	namesServers bool     // whether the reply names servers by their addresses
	args         []string
	instead      string // reply that the client gets instead of the server's reply; empty: the server's reply
}

// passedSettings lists the settings in the "lock" and "work" mappings that are passed to a user's client in environment
// variables (see work).
var passedSettings = []string{"lock.name", "lock.ttl", "work.compute", "work.cycles", "work.hold",
	"work.locks", "work.take"}

// work returns the environment variables that describe the work of a user's client.
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

// reached maps server addresses in the simulated world to the ports that the client uses to reach the servers. It
// returns nil for Fencepost's own clients. It also returns nil if no server's reply can name another server.
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

// namesServers reports whether the reply to a request contains server addresses. For requests in a transaction, this is
// the reply to EXEC.
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

// translated replaces the addresses in a reply with those that the client uses to reach the servers. A reply from a
// Sentinel may arrive in several pieces.
func (s *state) translated(b []byte, namesServers bool) []byte {
	switch {
	case s.conn.Server == scenarios.Observer:
		return s.said.Translate(b)
	case namesServers, redisserver.Redirects(b):
		return s.client.book.Translate(b)
	}
	return b
}
