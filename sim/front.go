package sim

import (
	"github.com/fencepost-sim/fencepost/checker/history"
)

// Front terminates the wire protocol of one kind of server for clients that are not tasks of the simulation. It knows
// the port, the protocol, and the attempt on whose behalf each request is made. With a Front, unmodified client
// libraries can use the simulated servers.
type Front interface {
	// Port returns the port on which every server listens.
	Port() int
	// Serial reports whether a server must receive the requests of a connection one at a time, each after the previous
	// one was answered. If it is false, the server itself keeps requests in order: it receives each one as it arrives
	// and, in the same order, the notice that the connection has been closed.
	Serial() bool
	// Begin starts a run.
	Begin() Callers
}

// Callers contains the clients of one run, as a Front sees them.
type Callers interface {
	// Caller returns a client that has not requested anything yet.
	Caller(client ProcessID) Caller
	// Recorded is called with each record of a lock's key that a request has set, extended or deleted. It must not keep
	// the record.
	Recorded(e *history.Event)
}

// Caller is one client of a run.
type Caller interface {
	// Wire returns the client's end of a new connection to a server.
	Wire(server ProcessID) Wire
	// Begin begins an attempt: from now on, the client's requests are sent on its behalf.
	Begin(a history.Attempt, now Time)
	// Try ends the requests for the lock. It returns when the latest round of requests for the lock began, and which
	// servers granted the lock in that round. If no request acquired the lock, since is the time at which the attempt
	// began.
	Try() (since Time, granted []ProcessID)
}

// Wire is the protocol of one connection, at the client's end. It converts the bytes that the client writes into
// requests, and the server's replies into bytes. Matters that concern only the connection, such as flow-control windows
// and header compression, are handled without messages on the simulated network.
type Wire interface {
	// Written handles bytes that the client has written, which may be any piece of the stream. A *NotSimulatedError is
	// reported, and closes the connection unless it was answered. Any other error says that the bytes are not a
	// client's protocol, and fails the run. If a Wire can answer invalid bytes as the real server does, it does that
	// instead of returning an error.
	Written(l Line, b []byte) error
	// Arrived handles bytes that the server has sent, which are valid until it returns: the reply to the request to, or
	// a push if to is nil.
	Arrived(l Line, b []byte, to *Incoming)
}

// NotSimulatedError reports a request that real servers support and simulated ones do not.
type NotSimulatedError struct {
	Request  string
	Answered bool // an error reply was sent, and the connection stays open
}

// Error says which request is not simulated.
func (e *NotSimulatedError) Error() string { return "fencepost: " + e.Request + " is not simulated" }

// Line is the connection on which a Wire acts.
type Line interface {
	// Now returns the true time.
	Now() Time
	// Ask sends a request to the server on behalf of an attempt, as a message of the network. phase describes its
	// purpose. The attempt and the phase are part of the key from which its delay is drawn.
	Ask(args []string, of history.Attempt, phase string)
	// Deliver gives the client bytes to read, without a delay.
	Deliver(b []byte)
	// HangUp ends the connection for the client, after the bytes that were delivered.
	HangUp()
}
