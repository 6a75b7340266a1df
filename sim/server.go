package sim

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Server is the program of a server process. The kernel makes one call at a time, and none while the process is paused
// or down. A Server may use only its own state and its Host.
type Server interface {
	// Start begins a new life of the process. It is called at the start of the run and again at each restart.
	Start(h Host)
	// Serve handles a request. The server may reply immediately or later. r stays valid until the reply or until the
	// process stops.
	Serve(r *Incoming)
	// Wake is called when a timer set with Host.WakeAtWall or Host.WakeAfter expires. If the process is paused at that
	// time, Wake is called when the pause ends.
	Wake(tag uint64)
	// ClockChanged is called when the wall clock has jumped, or when the clock rate has changed. All timers set with
	// WakeAtWall are canceled.
	ClockChanged()
	// Fault is called when a fault that the server implements itself, such as SlowFsync, begins or ends.
	Fault(f ServerFault)
	// Stop ends the process's current life. No method is called until the next Start. Unanswered requests do not get a
	// reply.
	Stop(how Stop)
}

// Peer is a server that can receive messages from other servers.
type Peer interface {
	Server
	// Receive handles a message body sent by another server with Host.Send. Like Serve, it is never called while the
	// process is paused or down.
	Receive(from ProcessID, body any)
}

// PeerCloser is a peer that is notified when another server's process ends, which also closes the connection between
// the two servers. The notification arrives after one network delay, in order with the messages on the connection. A
// cut link holds it back.
type PeerCloser interface {
	Peer
	PeerClosed(from ProcessID)
}

// EventLoop is a server with a single event loop, such as Redis. After a pause, it first handles the timers that have
// expired. Then it handles what has arrived, one connection after another, in the order in which something first
// arrived on each. Connections that were opened during the pause come last, because the server must accept them first.
type EventLoop interface{ EventLoop() }

// Closer is a server that keeps state for each connection. It is notified when a client has closed a connection or has
// crashed. The notification arrives after one network delay, in order with the requests on the connection. The server
// is not notified of connections that it has closed itself.
type Closer interface {
	Closed(connID uint64)
}

// PipeCloser is like [Closer], but is notified only about pipes. It is for servers that keep state for pipe
// connections, but not for task connections.
type PipeCloser interface {
	PipeClosed(connID uint64)
}

// Pauser controls a program on the host that must stop and continue together with its process. The program belongs to a
// server or is a client's Outside. Pause and Resume are called alternately, starting with Pause, even while the process
// is down.
type Pauser interface {
	// Pause stops the program. If pauses are nested, it is called only when the first pause begins.
	Pause()
	// Resume lets the program continue. If pauses are nested, it is called only when the last pause ends. It is called
	// before the held-back events are handled.
	Resume()
}

// Rated is a Host that knows its clock rate. Servers use it if they implement their own clocks, which must run at the
// same rate.
type Rated interface {
	// Rate returns the rate error of the process's clocks in parts per million; negative means slow.
	Rate() (ppm int64)
}

// Stop says how a server is stopped.
type Stop uint8

const (
	ShutDown     Stop = iota + 1 // clean shutdown (SHUTDOWN): everything written is on disk before the process ends
	PowerLoss                    // everything that was not fsynced is lost
	LoseAllState                 // everything is lost, because the disk is lost too or there is none
)

// Loss returns the reason for losing data when a server stops in the given way. persists says whether the server stores
// anything on disk.
func (s Stop) Loss(persists bool) history.Why {
	switch {
	case !persists:
		return history.LostUnpersisted
	case s == LoseAllState:
		return history.LostDisk
	}
	return history.LostUnsynced
}

// ServerFault is a fault that the server program implements itself.
type ServerFault struct {
	Kind  string        // one of SlowFsync, FailOver, ExpireSession, RemoveKeys, ClientPause
	By    time.Duration // SlowFsync: how much longer each fsync takes
	To    ProcessID     // FailOver: the new master; ExpireSession: the client whose session or lease ends
	Begin bool          // SlowFsync, ClientPause: true when the fault begins, false when it ends
	Key   history.Lock  // RemoveKeys: the key; empty: all keys
	Why   history.Why   // RemoveKeys: the reason to put into the history

	// Pause identifies a client pause (ClientPause), because several can be active at once. A crash ends all of them.
	Pause *history.Fault
}

// SlowFsync is a fault that makes each fsync take longer if it begins during the fault. ServerFault.By says by how
// much.
const SlowFsync = "slow-fsync"

// FailOver is a fault that makes the server named by ServerFault.To the master of its group. A Sentinel that gets this
// fault orders the failover as soon as it can. Any other Redis server becomes the master if it is To, and otherwise
// follows To. A member of a Redis Cluster asks for votes if it is To, and otherwise ignores the fault.
const FailOver = "fail-over"

// ExpireSession is a fault that ends the sessions or leases of the client named by ServerFault.To, as if the client had
// been silent for too long. Every member of the service is notified, and the leader ends the sessions or leases.
const ExpireSession = "expire-session"

// RemoveKeys removes a key, or all keys, from a Redis master, as an eviction or an operator would. A replica ignores
// the fault.
const RemoveKeys = "remove-keys"

// ClientPause is a fault that makes a Redis node stop answering clients and Sentinels until the fault ends, like CLIENT
// PAUSE. Until then, replicas cannot begin to follow the node either. The node does everything else as usual.
const ClientPause = "client-pause"

// Host is a server program's interface to the machine that it runs on.
type Host interface {
	Name() history.Process
	// Wall reads the wall clock, in ns since the Unix epoch.
	Wall() int64
	// Monotonic reads the monotonic clock.
	Monotonic() time.Duration
	// WakeAtWall calls Wake(tag) once the wall clock has reached the given time (in ns since the Unix epoch), or
	// immediately if it already has.
	WakeAtWall(at int64, tag uint64)
	// WakeAfter calls Wake(tag) once d has passed on the monotonic clock.
	WakeAfter(d time.Duration, tag uint64)
	// Rand returns 64 random bits for the given purpose. key distinguishes draws for the same purpose.
	Rand(purpose string, key Key) uint64
	// Due returns the true time at which d will have passed if the clock is accurate from now on. It must be used only
	// for history records.
	Due(d time.Duration) history.Time
	// Record adds an event to the history. It sets Index, Time and Process.
	Record(e history.Event)
	// Send sends body to another server, which must be a Peer. Messages between two servers arrive in order, wait while
	// the link is cut, and are lost if the receiver dies before they arrive. The body must not be changed after the
	// call. phase is the message's purpose, and key identifies it among the messages of that phase. The message's delay
	// depends only on the two servers, the phase and the key.
	Send(to ProcessID, phase string, key Key, body any)
	// Push sends a copy of b to the client at the other end of a connection, in order with the replies on it. key
	// identifies the content; the delay depends on it.
	Push(connID uint64, key Key, b []byte)
	// HangUp closes a connection. The client still receives the replies and pushes already sent on it. Requests that
	// arrive later are not executed, even if the client has already sent them. After HangUp, the server must not reply
	// to requests on the connection.
	HangUp(connID uint64)
}

// Incoming is a request as the server sees it.
type Incoming struct {
	Client  history.Process
	ConnID  uint64 // the connection's number, never reused within a run
	Attempt history.Attempt
	Phase   string   // the request's purpose, as stated by its client
	Args    []string // Args[0] is the command; valid until the reply
	left    history.Time
	answer  func(reply []byte)
}

// Left returns the true time at which a [Pipe] request left its client, or 0 for other requests. It must be used only
// for history records.
func (r *Incoming) Left() history.Time { return r.left }

// NewIncoming returns a request whose answer will be passed to reply. A nil answer means that the connection was closed
// without a reply.
func NewIncoming(client history.Process, connID uint64, attempt history.Attempt, args []string,
	reply func([]byte)) *Incoming {
	return &Incoming{Client: client, ConnID: connID, Attempt: attempt, Args: args, answer: reply}
}

func (p *Process) serve(r *Incoming) {
	if f := p.w.opts.Asked; f != nil {
		f(p.id, r)
	}
	p.server.Serve(r)
}

// Reply sends a copy of b, an encoded value, as the reply to the request. Only the first call counts.
func (r *Incoming) Reply(b []byte) {
	if f := r.answer; f != nil {
		r.answer = nil
		f(b)
	}
}

// Drop closes the connection without replying to the request. The client is notified that the connection has ended. A
// later call to Reply has no effect.
func (r *Incoming) Drop() { r.Reply(nil) }
