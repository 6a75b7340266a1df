package sim

import (
	"github.com/fencepost-sim/fencepost/checker/history"
)

// Front is how clients that are no tasks reach the servers of one kind: the port, the protocol on the wire, and on
// whose behalf each request is. A kind of servers that has one can be put before unmodified client libraries.
type Front interface {
	// Port is where every server listens.
	Port() int
	// Serial reports whether a server must be given the requests of a connection one after the other, each when the one
	// before has been answered. One that keeps them in order itself is given each as it arrives, and then learns in the
	// same order that the connection has been closed.
	Serial() bool
	// Begin starts a run.
	Begin() Callers
}

// Callers are the clients of one run, as a Front knows them.
type Callers interface {
	// Caller returns a client that has requested nothing yet.
	Caller(client ProcessID) Caller
	// Recorded takes each record of a key of a lock that a request has set, prolonged or deleted. It must not keep it.
	Recorded(e *history.Event)
}

// Caller is one client of a run.
type Caller interface {
	// Wire makes the client's end of a new connection to a server.
	Wire(server ProcessID) Wire
	// Begin begins an attempt, which asks for the lock from now on.
	Begin(a history.Attempt, now Time)
	// Try ends the asking. It returns when the latest round of requests for the lock began, and which servers granted
	// the lock in it. If no request took the lock, since is when the attempt began.
	Try() (since Time, granted []ProcessID)
}

// Wire is the protocol of one connection, at its client's end. It makes requests of what the client writes, and bytes
// of what the server answers. What belongs to the connection alone, such as windows and the compression of headers, it
// keeps to itself: that costs no message of the network.
type Wire interface {
	// Written takes bytes that the client has written: any piece of the stream. A *NotSimulatedError is reported, and
	// closes the connection unless it is answered. Another error says that they are of no client of this protocol, and
	// how; it fails the run. A Wire that can answer as the real server does, answers.
	Written(l Line, b []byte) error
	// Arrived takes what the server has sent, valid until it returns: the reply to a request, or a push if to is nil.
	Arrived(l Line, b []byte, to *Incoming)
}

// NotSimulatedError reports a request that real servers serve, and simulated ones do not.
type NotSimulatedError struct {
	Request  string
	Answered bool // by an error of the protocol, and the connection goes on
}

// Error names the request.
func (e *NotSimulatedError) Error() string { return "fencepost: " + e.Request + " is not simulated" }

// Line is the connection that a Wire acts on.
type Line interface {
	// Now is the time.
	Now() Time
	// Ask sends a request to the server on behalf of an attempt, a message of the network; phase is what it is for.
	// Both key the draw of its delay.
	Ask(args []string, of history.Attempt, phase string)
	// Deliver gives the client bytes to read, at once.
	Deliver(b []byte)
	// HangUp ends the connection, after what was delivered.
	HangUp()
}
