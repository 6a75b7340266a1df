package locks

import (
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// This file implements the clients of a Redis Cluster. A client finds the server that stores its lock's key in the same
// way as client libraries do.

// slots is what a client knows about which masters serve which slots of a Redis Cluster. If ranges overlap, the last
// one counts. The client asks for the slots (CLUSTER SLOTS) before its first request and after any request that got no
// reply. It also learns from MOVED replies.
type slots struct{ ranges []slotRange }

type slotRange struct {
	first, last int
	master      sim.ProcessID
}

// master returns the master that serves a slot, or "" if it is not known.
func (s *slots) master(slot int) sim.ProcessID {
	for _, r := range slices.Backward(s.ranges) {
		if r.first <= slot && slot <= r.last {
			return r.master
		}
	}
	return ""
}

// mostRedirections is the maximum number of MOVED and ASK replies that a client follows for one request. It is
// go-redis's default.
const mostRedirections = 3

// slotsTimeout is how long a client waits for a reply to CLUSTER SLOTS before it asks the next member.
const slotsTimeout = 100 * time.Millisecond

// routed sends a request to the master that serves its key, and follows redirections. If that key is the lock's own,
// the master becomes the lock's current master.
func (l *single) routed(env sim.Env, r sim.Request) *sim.Reply {
	slot := redis.KeySlot(keyOf(l.config, r.Args))
	reply := l.routedOnce(env, r, slot)
	for range mostRedirections {
		how, to := redirected(reply)
		switch how {
		case "MOVED":
			l.slots.ranges = append(l.slots.ranges, slotRange{slot, slot, to})
			reply = l.routedOnce(env, r, slot)
		case "ASK":
			r.Conn.Server = to
			asking := r
			asking.Args = []string{"ASKING"}
			if reply = &env.Call(l.timeout(), nil, asking, r)[1]; reply.Status != sim.Answered {
				env.Close(r.Conn)
			}
		default:
			if reply.Status != sim.Answered {
				l.slots = nil
			}
			return reply
		}
	}
	return reply
}

// routedOnce sends a request to the server that, as far as the client knows, serves a slot.
func (l *single) routedOnce(env sim.Env, r sim.Request, slot int) *sim.Reply {
	if l.slots == nil {
		l.slots = l.askForSlots(env)
	}
	if r.Conn.Server = l.slots.master(slot); r.Conn.Server == "" {
		r.Conn.Server = l.config.Servers[redis.SlotOwner(slot, len(l.config.Servers))]
	}
	if slot == redis.KeySlot(string(l.config.Key)) {
		l.current[0] = r.Conn.Server
	}
	return ask(env, l.timeout(), r)
}

// askForSlots asks one member after another which masters serve which slots, until one replies. If none replies, the
// result is empty, and routedOnce assumes that each master still serves the slots that it got when the cluster was
// created.
func (l *single) askForSlots(env sim.Env) *slots {
	known := &slots{}
	for i := range l.config.Servers {
		server := l.config.Servers[(l.config.First+i)%len(l.config.Servers)]
		reply := ask(env, slotsTimeout, sim.Request{Conn: sim.Conn{Server: server}, Args: []string{"CLUSTER", "SLOTS"},
			Phase: "slots"})
		ranges := reply.Array()
		for i := range ranges {
			served := ranges[i].Array()
			if len(served) < 3 {
				continue
			}
			first, _ := served[0].Int()
			last, _ := served[1].Int()
			if master := served[2].Array(); len(master) > 0 {
				name, _ := master[0].Bulk()
				known.ranges = append(known.ranges, slotRange{int(first), int(last), sim.ProcessID(name)})
			}
		}
		if len(known.ranges) > 0 {
			break
		}
	}
	return known
}

// redirected returns the first word of a reply that redirects the client (MOVED or ASK), and the server to redirect to.
// For any other reply, both are empty.
func redirected(r *sim.Reply) (how string, to sim.ProcessID) {
	words := strings.Fields(r.Error())
	if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return "", ""
	}
	host, _, _ := strings.Cut(words[2], ":")
	return words[0], sim.ProcessID(host)
}

// keyOf returns the first key of a request. If the request has no key, keyOf returns the lock's key.
func keyOf(c *Config, args []string) string {
	switch {
	case args[0] == "EVAL" && len(args) > 3:
		return args[3]
	case args[0] == "PUBLISH" || len(args) < 2:
		return string(c.Key)
	}
	return args[1]
}
