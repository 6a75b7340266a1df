// Package front lets clients that are no tasks of a world call its etcd members by gRPC: HTTP/2 as a connection carries
// it becomes calls, each message of gRPC a message of the simulated network, and what a member answers becomes frames.
//
// Windows, settings, the compression of headers and the answer to a ping that follows an arrival stay at the client's
// end and cost no message. The preface and any other ping travel to the member: one that is stopped or cut off accepts
// no connection and answers no ping.
//
// Errors are those of gRPC's server in etcd 3.4: an unknown service or method is Unimplemented, and what is no HTTP/2
// ends the connection. HTTP/1, which etcd serves on the same port, is answered with 404: its gateway is not simulated.
// Deadlines are the client's business: it resets the call. Pings are never too many, where etcd ends the connection of
// a client that sends one more often than every five seconds.
package front

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// Etcd is the [sim.Front] of etcd members.
type Etcd struct{}

// Port is etcd's for clients.
func (Etcd) Port() int { return 2379 }

// Serial is false: the calls of a connection are independent.
func (Etcd) Serial() bool { return false }

// Begin starts a run.
func (Etcd) Begin() sim.Callers { return callers{} }

type callers struct{}

// Recorded does nothing: a cluster grants a lock as one.
func (callers) Recorded(*history.Event) {}

// Caller returns a client that has called nothing yet.
func (callers) Caller(sim.ProcessID) sim.Caller {
	return &caller{leases: map[int64]history.Attempt{}, keys: map[string]history.Attempt{}}
}

// caller is a client. What it does about a lease is on behalf of the attempt that was granted it, and a deletion of its
// own key on behalf of the attempt that put it: a session that finds the key of an earlier attempt in its place takes
// it for its own. Everything else is on behalf of the latest attempt.
type caller struct {
	callers
	attempt history.Attempt
	since   sim.Time
	leases  map[int64]history.Attempt
	keys    map[string]history.Attempt // that it may have put, and has not asked to be deleted since
}

// Wire makes the client's end of a new connection.
func (c *caller) Wire(sim.ProcessID) sim.Wire { return newWire(c) }

// Begin begins an attempt.
func (c *caller) Begin(a history.Attempt, now sim.Time) { c.attempt, c.since = a, now }

// Try is the current attempt: a cluster grants a lock as one.
func (c *caller) Try() (since sim.Time, granted []sim.ProcessID) { return c.since, nil }

// behalf returns on whose behalf a call is.
func (c *caller) behalf(call *etcd.Call) history.Attempt {
	if of, known := c.leases[call.Lease()]; known {
		return of
	}
	key, deletes := call.Owned()
	of, known := c.keys[key]
	switch {
	case key == "":
	case deletes:
		delete(c.keys, key)
		if known {
			return of
		}
	case !known:
		c.keys[key] = c.attempt
	}
	return c.attempt
}

// learn remembers what a response grants.
func (c *caller) learn(of history.Attempt, call *etcd.Call, response string) {
	if lease := call.Granted(response); lease != 0 {
		c.leases[lease] = of
	}
	if key, deletes := call.Owned(); key != "" && !deletes && call.Succeeded(response) {
		c.keys[key] = of
	}
}
