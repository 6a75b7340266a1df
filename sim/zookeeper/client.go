package zookeeper

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// Codes that only the client library returns, never a server.
const (
	// ConnectionLoss means that the connection broke or that there was no connection. A pending request may or may not
	// have been executed.
	ConnectionLoss Code = "CONNECTIONLOSS"
	// OperationTimeout means that a request was not answered in time. It may or may not have been executed.
	OperationTimeout Code = "OPERATIONTIMEOUT"
)

// ClientState is what a client knows about its session.
type ClientState uint8

// The states of a client, named as in Curator and Kazoo.
const (
	Connecting ClientState = iota // not connected yet, for the first time
	Connected
	Suspended // the connection is lost; the session may still exist or may have ended
	Lost      // the session has ended, and its ephemeral znodes are gone; the client will request a new session
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
	Members []sim.ProcessID // at least one; the client tries them in this order, again and again
	First   int             // index of the first member to try
	// Timeout is the session timeout that the client requests. The client sends a ping when it has not sent a request
	// for a third of the timeout. It is suspended if nothing arrives for two thirds of the timeout, or if the
	// connection breaks.
	Timeout time.Duration
	// CallTimeout is the maximum time for each request. If it is 0, a request does not end until it is answered or the
	// connection breaks.
	CallTimeout time.Duration
	// Backoff is how long the client waits before trying the next member. If both bounds are 0, it waits 0 to 1 s, like
	// ZooKeeper's client.
	Backoff sim.Delay
	// CountsTimeout makes the client measure, by its own clock, how long it has been suspended. When this time reaches
	// the session timeout, the client gives up its session, as Curator does. If it is not set, only a server can tell
	// the client that its session has expired, as with Kazoo.
	CountsTimeout bool
	// Listener, if set, is called with each new state, by the task that caused or noticed the change. It must not
	// block.
	Listener func(env sim.Env, s ClientState)
	// Prolonged, if set, is called when the answer to a ping has moved the session's deadline. It must not block.
	Prolonged func(env sim.Env, s *Session)
}

// Client is the client's side of a session. All tasks of a process may use it; each passes its own Env.
type Client struct {
	config  ClientConfig
	state   ClientState
	changed *sim.Signal // raised at the next change of state

	session *Session // the current session; nil if there is none yet, or the last one was lost
	zxid    Zxid     // the highest zxid seen in this session

	// The fields below are the state of one connection.
	conn   sim.Conn
	epoch  uint64      // number of the connection; replies on earlier ones are ignored
	broken *sim.Signal // raised when the connection breaks
	sent   time.Duration
	heard  time.Duration
	xid    int32 // number of the last request
	// handled is the number of events on this connection that have reached their watches.
	handled int
	tried   int           // number of members tried so far
	since   time.Duration // when the connection was lost

	watchers []watcher
}

// Session is one of a client's sessions.
type Session struct {
	ID       SessionID
	Timeout  time.Duration // session timeout as negotiated with the server
	password string
	lost     sim.Signal
	// deadline is when the session expires, on the monotonic clock. It is one timeout after the client sent the last
	// request that was answered.
	deadline time.Duration
}

// Lost returns a signal that is raised when the client learns that the session has ended.
func (s *Session) Lost() *sim.Signal { return &s.lost }

// Deadline returns the time at which the client expects the session to expire if it does not send anything more. It is
// one timeout after the client sent the last request that was answered.
func (s *Session) Deadline() sim.Deadline {
	return sim.Deadline{Clock: sim.Monotonic, At: s.deadline}
}

// OpenClient starts a client and returns without waiting for a connection (see Await). Two background tasks keep the
// session alive and deliver watch events.
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

// State returns the current state as far as the client knows it.
func (c *Client) State() ClientState { return c.state }

// Session returns the current session, or nil if there is none. The session may have expired without the client
// knowing.
func (c *Client) Session() *Session { return c.session }

// Suspended returns a signal that is raised when the current connection breaks. If the client is not connected, the
// signal is already raised.
func (c *Client) Suspended() *sim.Signal { return c.broken }

// Await blocks until the client is connected or closed, or until the given time has passed. It reports whether the
// client is connected.
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

// enter changes the state and notifies everyone waiting for a change.
func (c *Client) enter(env sim.Env, s ClientState) {
	c.state = s
	changed := c.changed
	c.changed = &sim.Signal{}
	changed.Raise()
	if c.config.Listener != nil {
		c.config.Listener(env, s)
	}
}

// breakOff closes the current connection, if it still has the given number.
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

// lose gives up the session and all its watches. It also forgets the highest zxid seen so far. So do Curator, which
// creates a new ZooKeeper handle at this point, and Kazoo, which resets the value.
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

// silence returns how long a connection may be silent before the client gives up on it.
func (c *Client) silence() time.Duration { return c.timeout() * 2 / 3 }

func (c *Client) timeout() time.Duration {
	if c.session != nil {
		return c.session.Timeout
	}
	return c.config.Timeout
}

// ask sends a request with the given fields and waits for the reply. If there is no reply, the error is ConnectionLoss
// or OperationTimeout, and the request may or may not have been executed. If the reply contains an error, ask returns
// it in the Answer's Code field.
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

// head returns a request's first fields: its number and operation.
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

// settle waits until all events that arrived before a reply have reached their watches.
func (c *Client) settle(env sim.Env, epoch uint64, a *Answer) {
	for c.epoch == epoch && c.handled < a.Pushed {
		env.Sleep(0)
	}
}
