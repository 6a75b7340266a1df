package sim

import (
	"math"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Env is everything that client code may use. A protocol written against it runs in the simulator and, with another
// implementation of Env, against real servers.
type Env interface {
	// Name returns the process that the code runs in.
	Name() history.Process
	// Wall reads the process's wall clock; it may jump.
	Wall() time.Time
	// Monotonic reads the process's monotonic clock, which never jumps but drifts.
	Monotonic() time.Duration
	// Mark records the current instant of true time for the history. The calling code cannot read it.
	Mark() Mark
	// Rand draws 64 random bits from the process's own stream.
	Rand() uint64
	// Sleep blocks for d by the monotonic clock, or until one of the signals has been raised, and reports whether a
	// signal woke it. If d <= 0, it returns at once.
	Sleep(d time.Duration, wake ...*Signal) bool
	// Call sends the requests and blocks until all are answered, until enough (if not nil) returns true, or until
	// timeout. The result has one reply per request, in the same order; it stays valid until the task's next Call.
	// Requests that are unanswered when Call returns stay in flight, and their replies are dropped.
	Call(timeout time.Duration, enough func([]Reply) bool, reqs ...Request) []Reply
	// CallInTurn sends one request after another, each when the previous one was answered or has timed out. After each
	// request, it calls each with the index and the reply. It returns after the last request, or when each returns
	// false. each must not block.
	CallInTurn(timeout time.Duration, each func(i int, r *Reply) (proceed bool), reqs ...Request)
	// Receive blocks until the server at the other end of c has pushed something (Answered) or closed the connection
	// (Reset), or until the timeout has passed or a signal was raised (NoReply). Only one task at a time may receive on
	// a connection.
	Receive(c Conn, timeout time.Duration, wake ...*Signal) ([]byte, Status)
	// Close closes the connection: bytes that wait to be sent are dropped, and bytes in flight still arrive. The next
	// request on it opens a new connection, which takes a round trip.
	Close(c Conn)
	// Go starts another task of this process. It shares the process's clocks, pauses and crash.
	Go(name string, task func(Env))
	// Point marks a moment at which a fault may strike.
	Point(p Point)
	// Record adds an event to the history. It sets Index, Time and Process.
	Record(e history.Event)
	// RecordGrant adds a successful acquire or extend to the history. The lease ends at g.Until, on a clock of this
	// process.
	RecordGrant(e history.Event, g Grant)
}

// Mark is an instant of true time that client code can hold but not read.
type Mark struct{ at history.Time }

// Deadline is an instant on one of a process's clocks.
type Deadline struct {
	Clock ClockKind
	At    time.Duration // since that clock's zero (Wall: since the Unix epoch)
	// Announced, if set, is the true time at which the process was notified that its lease ended before At. It is
	// history.Never until then.
	Announced *Time
	// Open says that the lease has no stated end: only Announced ends it.
	Open bool
}

// Grant is a lease as the protocol reports it. The kernel converts it into a history.Grant.
type Grant struct {
	Since   Mark
	Granted Mark
	Until   Deadline
	Counted []history.Process
}

// Conn names a connection of a client to a server. N distinguishes several connections to the same server.
type Conn struct {
	Server history.Process
	N      int
}

// Request is one command to one server.
type Request struct {
	Conn    Conn
	Args    []string
	Attempt history.Attempt // the attempt on whose behalf it is sent; servers record it
	Phase   string          // what the message is for ("set", "release"); part of the key from which its delay is drawn
}

// Point is a named moment of a protocol at which a fault may strike.
type Point string

// The points, in the order in which a lock's client passes them.
const (
	AcquireStart    Point = "acquire-start"
	ClockRead       Point = "clock-read"
	BeforeExpire    Point = "before-expire"
	BeforeWait      Point = "before-wait"
	QuorumReached   Point = "quorum-reached"
	ValidityChecked Point = "validity-checked"
	Acquired        Point = "acquired"
	AfterRead       Point = "after-read"
	BeforeWrite     Point = "before-write"
	BeforeExtend    Point = "before-extend"
	BeforeRelease   Point = "before-release"
	OwnerCompared   Point = "owner-compared"
	Released        Point = "released"
)

// Points lists all points in the order in which a lock's client passes them.
var Points = []Point{AcquireStart, ClockRead, BeforeExpire, BeforeWait, QuorumReached, ValidityChecked, Acquired,
	AfterRead, BeforeWrite, BeforeExtend, BeforeRelease, OwnerCompared, Released}

// Forever is a duration that never ends, or a deadline that is never reached.
const Forever time.Duration = math.MaxInt64

// ProcessID names a process of a run: client-1, redis-3, redis-1-replica-1, resource, probe.
type ProcessID = history.Process
