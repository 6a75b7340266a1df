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

// request is one that a connection's server has not answered.
type request struct {
	left    sim.Time // when
	tells   bool     // its answer names servers by where they are
	args    []string
	instead string // the answer that the client is to have instead; empty: the server's
}

// work is what a client of the user's is told of what it is to do.
func (k *client) work() []string {
	w := &k.config.Work
	env := []string{"FENCEPOST_LOCK=" + string(k.locks[0]), "FENCEPOST_TAKE=all",
		fmt.Sprintf("FENCEPOST_TTL_MS=%d", k.config.Lock.TTL.Milliseconds()),
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

// reached gives the ports of the client at which it reaches the servers, for the names that these have in the world;
// nil if no server tells of another, or the client is of our own.
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

// tells reports whether the answer to a request that goes to a server names others by where they are. Among those of a
// transaction it is EXEC's.
func (s *state) tells(args []string) bool {
	switch {
	case redisserver.Tells(args):
		s.within = true
		return true
	case strings.EqualFold(args[0], "MULTI"):
		s.within = false
	case strings.EqualFold(args[0], "EXEC"):
		return s.within
	}
	return false
}

// told is what a server has said as the client is to hear it. Of a Sentinel that may be a piece of something.
func (s *state) told(b []byte, tells bool) []byte {
	switch {
	case s.conn.Server == scenarios.Observer:
		return s.said.Translate(b)
	case tells:
		return s.client.book.Translate(b)
	}
	return b
}
