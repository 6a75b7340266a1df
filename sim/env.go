package sim

import (
	"math"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Env is the complete interface between client code and its environment. A protocol written against Env runs in the
// simulator and, with another implementation of Env, against real servers.
type Env interface {
	// Name returns the name of the process that the code is running in.
	Name() history.Process
	// Wall reads the process's wall clock, which may jump.
	Wall() time.Time
	// Monotonic reads the process's monotonic clock, which never jumps but may drift.
	Monotonic() time.Duration
	// Mark returns the current instant of true time for use in the history. The caller cannot read this time.
	Mark() Mark
	// Rand returns 64 random bits from the process's own random stream.
	Rand() uint64
	// Sleep blocks for d on the monotonic clock, or until one of the signals is raised. It reports whether a signal
	// woke it. If d <= 0, no time passes.
	Sleep(d time.Duration, wake ...*Signal) bool
	// Call sends the requests. It blocks until all of them have been answered, until enough returns true (if enough is
	// not nil), or until the timeout has passed. The result has one reply per request, in the same order, and stays
	// valid until the task's next Call or CallInTurn. A request that is still unanswered when Call returns is not
	// canceled, but its reply will be dropped.
	Call(timeout time.Duration, enough func([]Reply) bool, reqs ...Request) []Reply
	// CallInTurn sends the requests one at a time: it sends each request once the previous one has been answered or has
	// timed out. It passes each request's index and reply to the given function, which must not block. It returns after
	// the last request, or as soon as the function returns false.
	CallInTurn(timeout time.Duration, each func(i int, r *Reply) (proceed bool), reqs ...Request)
	// Receive waits for data that the server pushes on connection c. The status is Answered if data arrived, Reset if
	// the server closed the connection, and NoReply if the timeout passed or a signal was raised. Only one task at a
	// time may receive on a connection.
	Receive(c Conn, timeout time.Duration, wake ...*Signal) ([]byte, Status)
	// Close closes the connection. Bytes that have not been sent yet are dropped; bytes in flight still arrive. The
	// next request on the connection opens a new one, which takes a round trip.
	Close(c Conn)
	// Go starts another task in this process. The task shares the process's clocks, and pauses and crashes with it.
	Go(name string, task func(Env))
	// Point marks a named moment when a fault may be injected.
	Point(p Point)
	// Record adds an event to the history. It sets the event's Index, Time and Process.
	Record(e history.Event)
	// RecordGrant adds a successful acquire or extend to the history. The lease ends at g.Until, on one of this
	// process's clocks.
	RecordGrant(e history.Event, g Grant)
}

// Mark is an instant of true time. Client code can store it but cannot read the time.
type Mark struct{ at history.Time }

// Deadline is an instant on one of a process's clocks.
type Deadline struct {
	Clock ClockKind
	At    time.Duration // time since the zero of that clock; for Wall, since the Unix epoch
	// Announced, if set, points to the true time at which the process was notified, before At, that its lease had
	// ended. Until the process is notified, this time is history.Never.
	Announced *Time
	// Open means that it is unknown when the lease will end. It ends only when the process is notified (Announced).
	Open bool
}

// Grant is a lease as reported by the client's protocol. The kernel converts it to a history.Grant.
type Grant struct {
	Since   Mark
	Granted Mark
	Until   Deadline
	Counted []history.Process
}

// Conn identifies a client's connection to a server. N distinguishes several connections to the same server.
type Conn struct {
	Server history.Process
	N      int
}

// Request is one command to one server.
type Request struct {
	Conn    Conn
	Args    []string
	Attempt history.Attempt // the attempt to which the request belongs; servers record it
	Phase   string          // purpose of the message ("set", "release"); its delay depends on it
}

// Point is a named moment in a protocol when a fault may be injected.
type Point string

// All points, in the order in which a lock's client reaches them.
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

// Points lists all points in the order in which a lock's client reaches them.
var Points = []Point{AcquireStart, ClockRead, BeforeExpire, BeforeWait, QuorumReached, ValidityChecked, Acquired,
	AfterRead, BeforeWrite, BeforeExtend, BeforeRelease, OwnerCompared, Released}

// Forever is an endless wait, or a deadline that is never reached.
const Forever time.Duration = math.MaxInt64

// ProcessID is the name of a process in a run: client-1, redis-3, redis-1-replica-1, resource, probe.
type ProcessID = history.Process
