// Package front lets clients that are no tasks of a world call its etcd members by gRPC: HTTP/2 as a connection carries
// it becomes calls, each message of gRPC a message of the simulated network, and what a member answers becomes frames.
//
// Windows, settings, the compression of headers and the answer to a ping that follows an arrival stay at the client's
// end and cost no message. The preface and any other ping travel to the member: one that is stopped or cut off accepts
// no connection and answers no ping.
//
// Errors are those of gRPC's server in etcd 3.4: an unknown service or method is Unimplemented, and what is no HTTP/2
// ends the connection. HTTP/1, which etcd serves on the same port, is answered with 404: its gateway is not simulated.
// Deadlines are the client's business: it resets the call.
package front

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Etcd is the [sim.Front] of etcd members.
type Etcd struct{}

// Port is etcd's for clients.
func (Etcd) Port() int { return 2379 }

// Serial is false: the calls of a connection are independent.
func (Etcd) Serial() bool { return false }

// Begin starts a run. Nothing that clients send has an absolute time.
func (Etcd) Begin(time.Duration) sim.Callers { return callers{} }

type callers struct{}

// Caller returns a client that has called nothing yet.
func (callers) Caller(sim.ProcessID) sim.Caller { return &caller{leases: map[int64]history.Attempt{}} }

// Canonical is the value: nothing that servers record is random.
func (callers) Canonical(value string) string { return value }

// caller is a client. What it does about a lease is on behalf of the attempt that was granted it; everything else on
// behalf of the latest.
type caller struct {
	callers
	attempt history.Attempt
	since   sim.Time
	leases  map[int64]history.Attempt
}

// Wire makes the client's end of a new connection.
func (c *caller) Wire(sim.ProcessID) sim.Wire { return newWire(c) }

// Begin begins an attempt.
func (c *caller) Begin(a history.Attempt, now sim.Time) { c.attempt, c.since = a, now }

// Try is the current attempt: a cluster grants a lock as one.
func (c *caller) Try() (since sim.Time, granted []sim.ProcessID) { return c.since, nil }

// behalf returns on whose behalf a call is that is about a lease, or about none if that is 0.
func (c *caller) behalf(lease int64) history.Attempt {
	if of, known := c.leases[lease]; known {
		return of
	}
	return c.attempt
}
