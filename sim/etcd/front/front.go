// Package front connects clients that are not tasks of a world to its etcd members by gRPC. It converts the bytes of an
// HTTP/2 connection into calls, each gRPC message into a message of the simulated network, and a member's responses
// into frames.
//
// Flow-control windows, settings and the compression of headers are handled at the client's end and need no message. So
// is the reply to a ping that immediately follows an arrival. The preface and any other ping travel to the member,
// because a member that is stopped or cut off neither accepts connections nor answers pings.
//
// Errors are those of the gRPC server in etcd 3.4: an unknown service or method is Unimplemented, and bytes that are
// not HTTP/2 end the connection. HTTP/1, which etcd serves on the same port, is answered with 404, because its gateway
// is not simulated. Deadlines are left to the client, which resets the call. There is no limit on pings, whereas etcd
// ends the connection of a client that sends more than one in five seconds.
package front

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// Etcd is the [sim.Front] of etcd members.
type Etcd struct{}

// Port returns etcd's port for clients.
func (Etcd) Port() int { return 2379 }

// Serial returns false, because the calls on a connection are independent.
func (Etcd) Serial() bool { return false }

// Begin starts a run.
func (Etcd) Begin() sim.Callers { return &callers{} }

// callers holds the clients of one run.
type callers struct{ all []*caller }

// Caller returns a client that has not called anything yet.
func (c *callers) Caller(sim.ProcessID) sim.Caller {
	k := &caller{leases: map[int64]history.Attempt{}, asked: map[history.Attempt]string{},
		keys: map[string]history.Attempt{}}
	c.all = append(c.all, k)
	return k
}

// Recorded tells a client which of its attempts has put a key.
func (c *callers) Recorded(e *history.Event) {
	if e.F != history.KeySet {
		return
	}
	for _, k := range c.all {
		if key, asked := k.asked[e.Of]; asked {
			k.keys[key] = e.Of
		}
	}
}

// caller is a client. Its calls for a lease are made on behalf of the attempt that was granted the lease. Its deletion
// of its own key is made on behalf of the attempt that put the key: a session that finds the key of an earlier attempt
// of the same client takes it as its own. All other calls are made on behalf of the latest attempt.
type caller struct {
	attempt history.Attempt
	since   sim.Time
	leases  map[int64]history.Attempt
	asked   map[history.Attempt]string // the key that each attempt last requested to put
	keys    map[string]history.Attempt // the attempt that put a key, until the client requests its deletion
}

// Wire returns the client's end of a new connection.
func (c *caller) Wire(sim.ProcessID) sim.Wire { return newWire(c) }

// Begin begins an attempt.
func (c *caller) Begin(a history.Attempt, now sim.Time) { c.attempt, c.since = a, now }

// Try returns when the current attempt began, and no servers, because a cluster grants a lock as a whole.
func (c *caller) Try() (since sim.Time, granted []sim.ProcessID) { return c.since, nil }

// behalf returns the attempt on whose behalf a call is sent.
func (c *caller) behalf(call *etcd.Call) history.Attempt {
	if of, known := c.leases[call.Lease()]; known {
		return of
	}
	switch key, deletes := call.Owned(); {
	case key == "":
	case !deletes:
		c.asked[c.attempt] = key
	case c.keys[key] != "":
		of := c.keys[key]
		delete(c.keys, key)
		return of
	}
	return c.attempt
}

// learn remembers the lease that a response grants to an attempt.
func (c *caller) learn(of history.Attempt, call *etcd.Call, response string) {
	if lease := call.Granted(response); lease != 0 {
		c.leases[lease] = of
	}
}
