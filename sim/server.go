package sim

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Server is the program of a server process. It is called by the kernel, one call at a time, never while its process is
// paused or down, and it may use nothing but its own state and its Host.
type Server interface {
	// Start begins a life of the process: at the start of the run and after each restart.
	Start(h Host)
	// Serve takes a request that has arrived. The answer may be given at once or kept for later: r stays valid until
	// it is answered or the life ends.
	Serve(r *Incoming)
	// Wake is a timer that Host.WakeAtWall or Host.WakeAfter set. A paused process is woken late.
	Wake(tag uint64)
	// ClockChanged reports that the wall clock jumped or the clocks' rate changed. Timers set with WakeAtWall are void.
	ClockChanged()
	// Fault reports that a fault that only this kind of server knows has begun or ended ("slow-fsync").
	Fault(f ServerFault)
	// Stop ends the life: no more calls until Start. Requests not answered will not be.
	Stop(how Stop)
}

// Peer is a server that other servers send to.
type Peer interface {
	Server
	// Receive takes what another server sent with Host.Send. Like Serve it is never called while the process is paused
	// or down.
	Receive(from ProcessID, body any)
}

// PeerCloser is a peer that is notified when another one's process ends: the connection between them breaks, in order
// with the messages there and one delay later. While the link is cut it learns nothing.
type PeerCloser interface {
	Peer
	PeerClosed(from ProcessID)
}

// Closer is a server that keeps state for a connection, and is notified when its client has closed it or has crashed:
// in order with the requests there, one delay later, and never after the server's own HangUp.
type Closer interface {
	Closed(connID uint64)
}

// PipeCloser is a server that is notified, as a [Closer], of pipes alone. Tasks of the world ask such a server for
// nothing that ends with their connection, and pay no event for the end of one.
type PipeCloser interface {
	PipeClosed(connID uint64)
}

// Pauser is a program of the host, for a server or for a client's Outside, that is to be stopped and continued when its
// process is. Both methods are called in turn, Pause first, also while the process is down.
type Pauser interface {
	// Pause stops the program when the first of nested pauses begins.
	Pause()
	// Resume continues it when the last of them has ended. What happened to the process meanwhile happens next.
	Resume()
}

// Rated is a Host that states how fast its clocks run, for servers with clocks of their own that must match.
type Rated interface {
	// Rate is by how many millionths the clocks of the process are fast; negative: slow.
	Rate() (ppm int64)
}

// Stop is how a server's life ends.
type Stop uint8

const (
	ShutDown     Stop = iota + 1 // SHUTDOWN: everything written is on disk before the process ends
	PowerLoss                    // what was not fsynced is gone
	LoseAllState                 // the disk is gone too, or there never was one
)

// Loss is why a server no longer has what it lost in such an end. Persists states whether it keeps anything on disk.
func (s Stop) Loss(persists bool) history.Why {
	switch {
	case !persists:
		return history.LostUnpersisted
	case s == LoseAllState:
		return history.LostDisk
	}
	return history.LostUnsynced
}

// ServerFault is a fault carried out by the server program itself.
type ServerFault struct {
	Kind  string        // SlowFsync, FailOver, ExpireSession
	By    time.Duration // SlowFsync
	To    ProcessID     // FailOver: who is to be the master; ExpireSession: whose session or lease
	Begin bool          // SlowFsync: false as it ends
}

// SlowFsync makes every fsync that begins while it is active take By longer.
const SlowFsync = "slow-fsync"

// FailOver makes To the master of its group. An observer that can order a failover does so at once; a server promotes
// itself if it is To, and follows To otherwise.
const FailOver = "fail-over"

// ExpireSession ends the sessions or leases of the client To, as if it had been silent for too long. Every member of a
// service is notified; the leader carries it out.
const ExpireSession = "expire-session"

// Host is what a server program sees of its machine.
type Host interface {
	Name() history.Process
	// Wall reads the wall clock, in ns since the Unix epoch.
	Wall() int64
	// release answers those for which over is true, in the order in which their time ends.
	Monotonic() time.Duration
	// WakeAtWall calls Wake(tag) once the wall clock shows at (ns since the Unix epoch) or later; at once if it does
	// already.
	WakeAtWall(at int64, tag uint64)
	// WakeAfter calls Wake(tag) once d has passed on the monotonic clock.
	WakeAfter(d time.Duration, tag uint64)
	// Rand draws 64 random bits for a purpose; key distinguishes the draws for that purpose.
	Rand(purpose string, key Key) uint64
	// Due is the true time at which d will have passed if the clock runs true from now on. It is for records only.
	Due(d time.Duration) history.Time
	// Record adds an event to the history; Index, Time and Process are filled in.
	Record(e history.Event)
	// Send sends body to another server, a Peer. Messages between two servers arrive in order, wait while the link is
	// cut, and are lost if the receiver dies before they arrive. The body must not be changed afterwards. phase states
	// what it is for and key which message of the phase it is; the draw of its delay depends on nothing else.
	Send(to ProcessID, phase string, key Key, body any)
	// Push sends b, which is copied, to the client at the other end of a connection, in order with the replies there.
	// key identifies its content.
	Push(connID uint64, key Key, b []byte)
	// HangUp closes a connection, in order with the replies and pushes there. What the client sends on it afterwards,
	// or has sent but the server has not yet seen, is not executed; the server itself must drop what it still owes on
	// the connection.
	HangUp(connID uint64)
}

// Incoming is a request as the server sees it.
type Incoming struct {
	Client  history.Process
	ConnID  uint64 // of this connection, never reused within a run
	Attempt history.Attempt
	Phase   string   // what it is for, as stated by its client
	Args    []string // Args[0] is the command; valid until the reply
	left    history.Time
	answer  func(reply []byte)
}

// Left is the true time at which a request of a [Pipe] left its client; 0 for others. It is for records only.
func (r *Incoming) Left() history.Time { return r.left }

// NewIncoming makes a request whose answer goes to reply; nil means that there will be none, since the connection was
// closed.
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

// Reply answers with an encoded value; b is copied. Only the first answer counts.
func (r *Incoming) Reply(b []byte) {
	if f := r.answer; f != nil {
		r.answer = nil
		f(b)
	}
}

// Drop notifies the client that the connection ended before there was an answer. It counts as the answer.
func (r *Incoming) Drop() { r.Reply(nil) }
