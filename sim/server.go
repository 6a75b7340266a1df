package sim

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Server is the program of a server process. The kernel calls it, one call at a time, and never while its process is
// paused or down. It may use nothing but its own state and its Host.
type Server interface {
	// Start begins a life of the process: at the start of the run and after each restart.
	Start(h Host)
	// Serve takes a request that has arrived. The server may reply at once or later: r stays valid until the reply or
	// the end of this life.
	Serve(r *Incoming)
	// Wake is called when a timer of Host.WakeAtWall or Host.WakeAfter runs out. If the process is paused then, it is
	// called after the pause.
	Wake(tag uint64)
	// ClockChanged reports that the wall clock jumped or the rate of the clocks changed. Timers set with WakeAtWall are
	// then void.
	ClockChanged()
	// Fault reports that a fault which the server itself carries out, such as SlowFsync, has begun or ended.
	Fault(f ServerFault)
	// Stop ends the life: no method is called until Start. Requests without a reply get none.
	Stop(how Stop)
}

// Peer is a server to which other servers can send.
type Peer interface {
	Server
	// Receive takes a body that another server sent with Host.Send. Like Serve, it is never called while the process is
	// paused or down.
	Receive(from ProcessID, body any)
}

// PeerCloser is a peer that is notified when another server's process ends and the connection between them breaks. The
// notice arrives one delay later, in order with the messages on the connection, and not while the link is cut.
type PeerCloser interface {
	Peer
	PeerClosed(from ProcessID)
}

// EventLoop is a server with one event loop, as Redis has. When it continues after a pause, it first handles its timers
// that have run out. Then it handles what has arrived, connection by connection, in the order in which something first
// arrived on them. Connections that were opened during the pause come last, because the server must accept them first.
type EventLoop interface{ EventLoop() }

// Closer is a server that keeps state for each connection. It is notified when a client has closed a connection or has
// crashed, one delay later and in order with the requests on the connection, but never after the server's own HangUp.
type Closer interface {
	Closed(connID uint64)
}

// PipeCloser is like [Closer], but only for pipes. The tasks of a world request nothing from such a server that would
// end with their connections, so the end of those connections needs no event.
type PipeCloser interface {
	PipeClosed(connID uint64)
}

// Pauser is a program of the host that must be stopped and continued together with its process: behind a server, or
// behind a client's Outside. Pause and Resume are called alternately, beginning with Pause, even while the process is
// down.
type Pauser interface {
	// Pause stops the program. It is called at the beginning of the first of nested pauses.
	Pause()
	// Resume continues the program. It is called at the end of the last of nested pauses, before the events that
	// occurred in the meantime.
	Resume()
}

// Rated is a Host that states how fast its clocks run. It is for servers whose own clocks must run at the same rate.
type Rated interface {
	// Rate returns by how many millionths the clocks of the process run fast; negative: slow.
	Rate() (ppm int64)
}

// Stop is the way in which a server's life ends.
type Stop uint8

const (
	ShutDown     Stop = iota + 1 // SHUTDOWN: everything written is on disk before the process ends
	PowerLoss                    // everything that was not fsynced is lost
	LoseAllState                 // the disk is lost too, or there never was one
)

// Loss returns the reason for the loss of the data that a server loses in this way. persists says whether the server
// stores anything on disk.
func (s Stop) Loss(persists bool) history.Why {
	switch {
	case !persists:
		return history.LostUnpersisted
	case s == LoseAllState:
		return history.LostDisk
	}
	return history.LostUnsynced
}

// ServerFault is a fault that the server program itself carries out.
type ServerFault struct {
	Kind  string        // SlowFsync, FailOver, ExpireSession, RemoveKeys, ClientPause
	By    time.Duration // SlowFsync
	To    ProcessID     // FailOver: the new master; ExpireSession: the client whose session or lease ends
	Begin bool          // SlowFsync, ClientPause: true when it begins, false when it ends
	Key   history.Lock  // RemoveKeys: the key; empty: all keys
	Why   history.Why   // RemoveKeys: the reason to record

	// Pause identifies a client pause (ClientPause), because several may be under way, and because a crash ends them.
	Pause *history.Fault
}

// SlowFsync makes every fsync that begins during the fault take By longer.
const SlowFsync = "slow-fsync"

// FailOver makes To the master of its group. An observer that can order a failover does so at once. A server promotes
// itself if it is To; otherwise it follows To.
const FailOver = "fail-over"

// ExpireSession ends the sessions or leases of the client To, as if the client had been silent for too long. Every
// member of the service is notified, and the leader carries it out.
const ExpireSession = "expire-session"

// RemoveKeys removes a key, or all keys, from a Redis master, as an eviction or an operator does. A replica refuses.
const RemoveKeys = "remove-keys"

// ClientPause makes a Redis node answer no client from its beginning to its end, as CLIENT PAUSE does. The node goes on
// otherwise.
const ClientPause = "client-pause"

// Host is the interface of a server program to its machine.
type Host interface {
	Name() history.Process
	// Wall reads the wall clock, in ns since the Unix epoch.
	Wall() int64
	// Monotonic reads the monotonic clock.
	Monotonic() time.Duration
	// WakeAtWall calls Wake(tag) once the wall clock shows at (ns since the Unix epoch) or later; at once if it already
	// does.
	WakeAtWall(at int64, tag uint64)
	// WakeAfter calls Wake(tag) once d has passed on the monotonic clock.
	WakeAfter(d time.Duration, tag uint64)
	// Rand returns 64 random bits for a purpose. key distinguishes the draws for that purpose.
	Rand(purpose string, key Key) uint64
	// Due returns the true time at which d will have passed if the clock runs true from now on. It is for records only.
	Due(d time.Duration) history.Time
	// Record adds an event to the history. It sets Index, Time and Process.
	Record(e history.Event)
	// Send sends body to another server, which must be a Peer. Messages between two servers arrive in order, wait while
	// the link is cut, and are lost if the receiver dies before they arrive. The body must not be changed afterwards.
	// phase says what the message is for, and key identifies it among the messages of the phase; the draw of its delay
	// depends on nothing else.
	Send(to ProcessID, phase string, key Key, body any)
	// Push sends a copy of b to the client at the other end of a connection, in order with the replies there. key
	// identifies the content.
	Push(connID uint64, key Key, b []byte)
	// HangUp closes a connection, in order with the replies and pushes there. Requests that the client sends on it
	// afterwards, or has sent but the server has not seen yet, are not executed. The server itself must drop the
	// replies that it still owes on the connection.
	HangUp(connID uint64)
}

// Incoming is a request as the server sees it.
type Incoming struct {
	Client  history.Process
	ConnID  uint64 // number of the connection, never reused within a run
	Attempt history.Attempt
	Phase   string   // what the request is for, as its client states it
	Args    []string // Args[0] is the command; valid until the reply
	left    history.Time
	answer  func(reply []byte)
}

// Left returns the true time at which a request of a [Pipe] left its client, or 0 for other requests. It is for records
// only.
func (r *Incoming) Left() history.Time { return r.left }

// NewIncoming returns a request. Its reply is passed to the function reply; nil means that the connection was closed
// without a reply.
func NewIncoming(client history.Process, connID uint64, attempt history.Attempt, args []string,
	reply func([]byte)) *Incoming {
	return &Incoming{Client: client, ConnID: connID, Attempt: attempt, Args: args, answer: reply}
}

// serve passes a request to the server of a process.
func (p *Process) serve(r *Incoming) {
	if f := p.w.opts.Asked; f != nil {
		f(p.id, r)
	}
	p.server.Serve(r)
}

// Reply sends a copy of b, an encoded value, as the reply. Only the first reply counts.
func (r *Incoming) Reply(b []byte) {
	if f := r.answer; f != nil {
		r.answer = nil
		f(b)
	}
}

// Drop notifies the client that the connection ended before there was a reply. It counts as the reply.
func (r *Incoming) Drop() { r.Reply(nil) }
