package sim

import (
	"github.com/fencepost-sim/fencepost/checker/history"
)

// Front implements one kind of server's wire protocol for clients that run outside the simulation. It knows the port,
// the protocol, and the attempt that each request belongs to. With a Front, unmodified client libraries can use the
// simulated servers.
type Front interface {
	// Port returns the port that every server listens on.
	Port() int
	// Serial reports whether a server must receive a connection's requests one at a time, each after the reply to the
	// previous one. If Serial returns false, the server receives each request as soon as it arrives and must itself
	// execute the requests in order. The server is not notified that the connection was closed until after the last of
	// them.
	Serial() bool
	// Begin starts a run.
	Begin() Callers
}

// Callers is the set of clients in one run, as a Front sees them.
type Callers interface {
	// Caller returns a new caller for a client that has not sent a request yet.
	Caller(client ProcessID) Caller
	// Recorded is called for each recorded event in which a request has set, extended or deleted a lock's key.
	// Implementations must not keep the event.
	Recorded(e *history.Event)
}

// Caller is one client in a run.
type Caller interface {
	// Wire opens a connection to a server and returns the client's end of it.
	Wire(server ProcessID) Wire
	// Begin begins an attempt: from now on, the client's requests belong to it.
	Begin(a history.Attempt, now Time)
	// Try returns when the client's last try in this attempt began, and the servers that granted the lock in that try.
	// It is called when the client stops requesting the lock. An attempt may consist of several tries, each of which
	// asks several servers. If no request acquired the lock, Try returns the time at which the attempt began.
	Try() (since Time, granted []ProcessID)
}

// Tasks is a Caller for a client with several tasks, which share its connections.
type Tasks interface {
	Caller
	// Turn sets the task for the next calls to Begin and Try, and for the next bytes written. Tasks are numbered from
	// 1; 0 means that the task is not known. If calling is true, the bytes are sent during a call to the task's lock.
	// Otherwise, they come from code that is still running after an earlier call.
	Turn(task int, calling bool)
}

// Wire implements the protocol for one connection, at the client's end. It converts the bytes that the client writes
// into requests, and the server's replies into bytes. It handles anything that concerns only the connection itself,
// such as flow-control windows and header compression, without messages on the simulated network.
type Wire interface {
	// Written handles bytes that the client has written. They may be any part of the stream. If a Wire can answer
	// invalid bytes as the real server does, it does so and does not return an error. If it returns a
	// *NotSimulatedError, the error is reported, and the connection is closed unless an error reply was sent. Any other
	// error fails the run, because the bytes violate the protocol.
	Written(l Line, b []byte) error
	// Arrived handles bytes from the server: the reply to the given request, or a push if the request is nil. The bytes
	// are valid until Arrived returns.
	Arrived(l Line, b []byte, to *Incoming)
}

// NotSimulatedError reports a request that real servers support but simulated ones do not.
type NotSimulatedError struct {
	Request  string
	Answered bool // an error reply was sent, and the connection stays open
}

// Error returns a message that names the request.
func (e *NotSimulatedError) Error() string { return "fencepost: " + e.Request + " is not simulated" }

// Line is the simulated connection that a Wire uses.
type Line interface {
	// Now returns the true time.
	Now() Time
	// Ask sends a request to the server as a message on the network. The message's delay depends on the attempt that
	// the request belongs to, and on phase, which says what the request is for.
	Ask(args []string, of history.Attempt, phase string)
	// Deliver passes bytes to the client, without a delay.
	Deliver(b []byte)
	// HangUp closes the client's end of the connection. The client still receives the bytes that were delivered before.
	HangUp()
}
