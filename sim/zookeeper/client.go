package zookeeper

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// Codes of the client library, which no server returns.
const (
	// ConnectionLoss: the connection broke, or there was none. A pending request may or may not have been executed.
	ConnectionLoss Code = "CONNECTIONLOSS"
	// OperationTimeout: no reply came within the time for one request, which may or may not have been executed.
	OperationTimeout Code = "OPERATIONTIMEOUT"
)

// ClientState is what a client knows about its session.
type ClientState uint8

// The states, with the names that Curator and Kazoo use.
const (
	Connecting ClientState = iota // not connected yet, and never was before
	Connected
	Suspended // the connection is lost; the session may or may not be alive
	Lost      // the session is over, with its ephemeral znodes; the client will request a new one
	Closed    // Close was called
)

var stateNames = [...]string{"CONNECTING", "CONNECTED", "SUSPENDED", "LOST", "CLOSED"}

// String returns the state's name.
func (s ClientState) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return ""
}

// ClientConfig configures a client.
type ClientConfig struct {
	Members []sim.ProcessID // at least one; tried in this order, cyclically
	First   int             // index of the first member to try
	// Timeout is the session timeout that the client requests. After a third of it without a request, the client sends
	// a ping. The session is suspended if no reply comes for two thirds of it, or if the connection breaks.
	Timeout time.Duration
	// CallTimeout limits the time of one request; 0 means that only silence on the connection does.
	CallTimeout time.Duration
	// Backoff is the wait before the next member is tried. If both bounds are 0, it is 0 to 1 s, as in ZooKeeper's
	// client.
	Backoff sim.Delay
	// CountsTimeout makes the client give up the session once it has been suspended for the whole timeout by the
	// client's own clock, as Curator does. Otherwise only a server can report that a session has expired, as with
	// Kazoo.
	CountsTimeout bool
	// Listener, if set, is called with each new state, by the task that learned of it. It must not block.
	Listener func(env sim.Env, s ClientState)
	// Prolonged, if set, is called when a ping has been answered and the session's deadline has moved. It must not
	// block.
	Prolonged func(env sim.Env, s *Session)
}

// Client is the client's side of a session. The tasks of one process share it; each passes its own Env.
type Client struct {
	config  ClientConfig
	state   ClientState
	changed *sim.Signal // raised at the next change of state

	session *Session // nil before the first session, and while a new one is being requested
	zxid    Zxid     // the highest zxid seen since the session was requested

	// State of one connection.
	conn   sim.Conn
	epoch  uint64      // number of the connection; replies on an earlier one are ignored
	broken *sim.Signal // raised when the connection breaks
	sent   time.Duration
	heard  time.Duration
	xid    int32 // number of the latest request
	// handled is the number of events on this connection that have been delivered to their watches.
	handled int
	tried   int           // number of members tried so far
	since   time.Duration // when the connection was lost

	watchers []watcher
}

// Session is one session of a client.
type Session struct {
	ID       SessionID
	Timeout  time.Duration // as negotiated
	password string
	lost     sim.Signal
	// deadline is when the session expires: the timeout after the client sent the last request that was answered, on
	// the monotonic clock.
	deadline time.Duration
}

// Lost returns a signal that is raised once the client knows that the session is over.
func (s *Session) Lost() *sim.Signal { return &s.lost }

// Deadline returns when the session expires if its client sends nothing more, as the client counts it: from the time
// when it sent the last request that was answered.
func (s *Session) Deadline() sim.Deadline {
	return sim.Deadline{Clock: sim.Monotonic, At: s.deadline}
}

// OpenClient starts a client and returns at once; see Await. Two background tasks keep the session alive and deliver
// watch events.
func OpenClient(env sim.Env, c ClientConfig) *Client {
	if c.Backoff == (sim.Delay{}) {
		c.Backoff.Hi = time.Second
	}
	k := &Client{config: c, changed: &sim.Signal{}, broken: &sim.Signal{}}
	k.broken.Raise()
	env.Go("zookeeper-session", k.keep)
	env.Go("zookeeper-events", k.listen)
	return k
}

// State returns the current state as the client knows it.
func (c *Client) State() ClientState { return c.state }

// Session returns the current session. It is nil unless the client is connected, or was last connected with a session
// that may still be alive.
func (c *Client) Session() *Session { return c.session }

// Suspended returns a signal that is raised when the current connection breaks. If there is none, it is already raised.
func (c *Client) Suspended() *sim.Signal { return c.broken }

// Await blocks until the client is connected or has been closed, or until patience ends. It reports whether the client
// is connected.
func (c *Client) Await(env sim.Env, patience time.Duration) bool {
	end := env.Monotonic() + patience
	for c.state != Connected && c.state != Closed {
		left := end - env.Monotonic()
		if patience == sim.Forever {
			left = patience
		}
		if left <= 0 {
			return false
		}
		env.Sleep(left, c.changed)
	}
	return c.state == Connected
}

// enter changes the state and notifies everybody who waits for that.
func (c *Client) enter(env sim.Env, s ClientState) {
	c.state = s
	changed := c.changed
	c.changed = &sim.Signal{}
	changed.Raise()
	if c.config.Listener != nil {
		c.config.Listener(env, s)
	}
}

// breakOff gives up the connection with the given number, unless that has already been done.
func (c *Client) breakOff(env sim.Env, epoch uint64) {
	if epoch != c.epoch || c.state != Connected {
		return
	}
	env.Close(c.conn)
	c.epoch++
	c.since = env.Monotonic()
	c.broken.Raise()
	c.enter(env, Suspended)
}

// lose gives up a session, and its watches with it. Curator then makes a new ZooKeeper handle, and Kazoo resets its
// own; both forget the zxid that they have seen.
func (c *Client) lose(env sim.Env) {
	s := c.session
	c.session, c.zxid = nil, 0
	s.lost.Raise()
	watchers := c.watchers
	c.watchers = nil
	for _, w := range watchers {
		w.watch.fire(Event{Type: None, Path: w.path})
	}
	c.enter(env, Lost)
}

// silence returns how long nothing may arrive on a connection before the client gives it up.
func (c *Client) silence() time.Duration { return c.timeout() * 2 / 3 }

func (c *Client) timeout() time.Duration {
	if c.session != nil {
		return c.session.Timeout
	}
	return c.config.Timeout
}

// ask sends a request with the given fields and waits for its reply. Apart from replies with a Code, the errors are
// ConnectionLoss and OperationTimeout, after which the request may or may not have been executed.
func (c *Client) ask(env sim.Env, attempt history.Attempt, phase string, op jute.Op, fields jute.Record) (Answer,
	error) {
	if c.state != Connected {
		return Answer{}, ConnectionLoss
	}
	epoch, session, now := c.epoch, c.session, env.Monotonic()
	left := c.heard + c.silence() - now
	if left <= 0 {
		c.breakOff(env, epoch)
		return Answer{}, ConnectionLoss
	}
	if c.config.CallTimeout > 0 {
		left = min(left, c.config.CallTimeout)
	}
	c.sent = now
	args := []string{op.String(), string(append(c.head(op), fields...))}
	r := &env.Call(left, nil, sim.Request{Conn: c.conn, Args: args, Attempt: attempt, Phase: phase})[0]
	if epoch != c.epoch {
		return Answer{}, ConnectionLoss
	}
	if r.Status == sim.NoReply && env.Monotonic()-c.heard < c.silence() {
		return Answer{}, OperationTimeout
	}
	a, ok := ReadAnswer(r)
	if !ok || a.Code == SessionMoved {
		c.breakOff(env, epoch)
		return Answer{}, ConnectionLoss
	}
	c.heard = env.Monotonic()
	c.zxid = max(c.zxid, a.Zxid)
	session.deadline = max(session.deadline, now+session.Timeout)
	return a, a.Code.err()
}

// head returns the beginning of a request.
func (c *Client) head(op jute.Op) jute.Record {
	switch op {
	case jute.Ping:
		return jute.Head(jute.XidPing, op)
	case jute.SetWatches:
		return jute.Head(jute.XidWatches, op)
	}
	c.xid++
	return jute.Head(c.xid, op)
}

// settle waits until the events that had arrived before a reply have been delivered to their watches.
func (c *Client) settle(env sim.Env, epoch uint64, a *Answer) {
	for c.epoch == epoch && c.handled < a.Pushed {
		env.Sleep(0)
	}
}
