// Package front lets clients that run outside the simulation use simulated etcd members through gRPC. It decodes the
// calls from an HTTP/2 connection's bytes, sends each gRPC message as a message on the simulated network, and encodes a
// member's responses as frames.
//
// Flow-control windows, settings and header compression are handled at the client's end and do not need a message. The
// same is true of a ping that comes immediately after data has arrived. The preface and all other pings are sent to the
// member, because a member that is stopped or cut off must not accept connections or answer pings.
//
// Errors are those of the gRPC server in etcd 3.4: an unknown service or method is Unimplemented, and bytes that are
// not HTTP/2 end the connection. HTTP/1, which etcd serves on the same port, is answered with 404, because its gateway
// is not simulated. Only the client enforces a call's deadline, by resetting the call's stream. There is no limit on
// pings, whereas etcd closes the connection of a client that sends more than one in five seconds.
package front

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// Etcd is the [sim.Front] of etcd members.
type Etcd struct{}

// Port returns etcd's client port.
func (Etcd) Port() int { return 2379 }

// Serial returns false, because the calls on a connection are independent of each other.
func (Etcd) Serial() bool { return false }

// Begin starts a run.
func (Etcd) Begin() sim.Callers { return &callers{} }

// callers holds the clients of one run.
type callers struct{ all []*caller }

// Caller returns a new client that has not made any calls yet.
func (c *callers) Caller(sim.ProcessID) sim.Caller {
	k := &caller{leases: map[int64]history.Attempt{}, asked: map[history.Attempt]string{},
		keys: map[string]history.Attempt{}}
	c.all = append(c.all, k)
	return k
}

// Recorded tells the client which of its attempts put a key.
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

// caller is a client. It decides which attempt each call belongs to. A call about a lease belongs to the attempt to
// which the lease was granted. A call that deletes one of the client's keys belongs to the attempt that put the key.
// This may not be the most recent one, because a session may use a key from an earlier attempt. All other calls belong
// to the most recent attempt.
type caller struct {
	attempt history.Attempt
	since   sim.Time
	leases  map[int64]history.Attempt
	asked   map[history.Attempt]string // the key that each attempt last tried to put
	keys    map[string]history.Attempt // the attempt that put a key; removed when the client asks to delete the key
}

// Wire returns the client's end of a new connection.
func (c *caller) Wire(sim.ProcessID) sim.Wire { return newWire(c) }

// Begin begins an attempt.
func (c *caller) Begin(a history.Attempt, now sim.Time) { c.attempt, c.since = a, now }

// Try returns the time at which the current attempt began. It does not return any servers, because a lock is granted by
// the cluster as a whole.
func (c *caller) Try() (since sim.Time, granted []sim.ProcessID) { return c.since, nil }

// behalf returns the attempt to which a call belongs.
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

// learn records the lease, if any, that a response has granted to an attempt.
func (c *caller) learn(of history.Attempt, call *etcd.Call, response string) {
	if lease := call.Granted(response); lease != 0 {
		c.leases[lease] = of
	}
}
