package zkserver

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// call is a pending request. Only the world's goroutine may access the embedded Incoming.
type call struct {
	*sim.Incoming
	args    []string
	attempt history.Attempt
	xid     int32
}

// link is a connection to the member's process. It corresponds to one client connection.
type link struct {
	x      *life
	id     uint64
	client history.Process

	mu     sync.Mutex
	news   *sync.Cond // signals that there is something to send, or that the link is closed
	conn   net.Conn   // nil until the link is connected
	calls  []*call    // calls that are not answered yet, in order
	said   int        // number of these calls that have been sent
	closed bool

	// Only the reading goroutine uses the fields below.
	session int64
	events  int64 // number of events sent to the client

	// Only the world's goroutine uses the fields below.
	entered bool // whether there is a session
	over    bool
}

func newLink(x *life, id uint64, client history.Process, first *call) *link {
	l := &link{x: x, id: id, client: client, calls: []*call{first}, said: 1}
	l.news = sync.NewCond(&l.mu)
	context.AfterFunc(x.Context, l.close)
	return l
}

// add adds a request to the queue for the process.
func (l *link) add(c *call) {
	l.mu.Lock()
	l.calls = append(l.calls, c)
	l.news.Signal()
	l.mu.Unlock()
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.conn != nil {
		l.conn.Close()
	}
	l.news.Signal()
}

// run exchanges messages with the process until the connection ends, and then notifies the client.
func (l *link) run(first *call) {
	if l.open() && l.enter(first) {
		go l.write()
		for l.read() {
		}
	}
	l.close()
	l.deliver(l.hangUp)
}

// deliver runs f on the world's goroutine, unless the client has closed the connection by then.
func (l *link) deliver(f func()) {
	l.x.Do(func() {
		if !l.over {
			f()
		}
	})
}

// hangUp notifies the client that the connection has ended. Pending requests are answered with ClosedReply.
func (l *link) hangUp() {
	l.over = true
	delete(l.x.links, l.id)
	l.mu.Lock()
	calls := l.calls
	l.calls = nil
	l.mu.Unlock()
	for _, c := range calls {
		c.Reply([]byte(zookeeper.ClosedReply))
	}
	if l.entered {
		l.x.m.Host.Push(l.id, sim.Key(l.events), []byte(zookeeper.ClosedReply))
	}
}

// open connects to the process.
func (l *link) open() bool {
	conn, err := net.DialTimeout("tcp", l.x.m.address(), patience)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		conn.Close()
		return false
	}
	l.conn = conn
	return true
}

// write sends the client's requests to the process.
func (l *link) write() {
	for {
		l.mu.Lock()
		for len(l.calls) == l.said && !l.closed {
			l.news.Wait()
		}
		if l.closed {
			l.mu.Unlock()
			return
		}
		c := l.calls[l.said]
		b, path := c.passed()
		l.said++
		l.mu.Unlock()
		if path != "" {
			l.x.m.ensemble.records.ask(l.session, path, c.attempt)
		}
		if _, err := l.conn.Write(b); err != nil {
			l.close()
			return
		}
	}
}

// read receives and handles the next message from the process. It returns false at the end of the connection.
func (l *link) read() bool {
	f, err := jute.ReadFrame(l.conn)
	if err != nil {
		return false
	}
	whole := jute.Record(f.Rest)
	xid, at := f.Int(), f.Long()
	f.Int() // skip the error code
	if xid == jute.XidEvent {
		return l.event(&f, whole)
	}
	c := l.asked(xid)
	if c == nil {
		l.x.m.Fail(jute.ErrNoFrame)
		return false
	}
	if !l.x.eye.upTo(at) {
		return false
	}
	l.reply(c, whole.Framed())
	return true
}

// asked returns the earliest pending request with the given xid, or nil if there is none. Older requests may still be
// pending, because the reply to an authentication request can overtake other replies.
func (l *link) asked(xid int32) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls[:l.said] {
		if c.xid == xid {
			return c
		}
	}
	return nil
}

// reply passes the process's reply on to the client.
func (l *link) reply(c *call, b []byte) {
	l.mu.Lock()
	l.calls = slices.DeleteFunc(l.calls, func(o *call) bool { return o == c })
	l.said--
	l.mu.Unlock()
	l.deliver(func() { c.Reply(b) })
}

// event passes a watch event on to the client.
func (l *link) event(f *jute.Fields, whole jute.Record) bool {
	kind := f.Int()
	f.Int() // skip the state of the connection
	path := f.Text()
	if !l.x.eye.upTo(allSoFar) { // if the member stopped serving, it has also closed this connection
		return false
	}
	l.events++
	key := sim.Key(l.events).Text(path).Word(uint64(kind))
	l.deliver(func() { l.x.m.Host.Push(l.id, key, whole.Framed()) })
	return true
}

// noPassword is the password in a client's request for a new session.
var noPassword = string(make([]byte, jute.PasswordLength))

// enter requests a session on a new connection, as the superuser. It requests the session with the given ID, or a new
// session if id is 0. It returns the session's ID, or 0 if the session has ended.
func (e *ensemble) enter(conn net.Conn, id int64, password string) (int64, error) {
	if password == "" {
		password = noPassword
	}
	ask := jute.ConnectRequest{Timeout: maxTimeout, Session: id, Password: password}
	if _, err := conn.Write(ask.Record().Framed()); err != nil {
		return 0, err
	}
	f, err := jute.ReadFrame(conn)
	if err != nil {
		return 0, err
	}
	if id, _ = readSession(&f); id == 0 {
		return 0, nil
	}
	return id, e.authenticate(conn)
}

// readSession decodes the reply to a session request. The ID is 0 if the session has ended.
func readSession(f *jute.Fields) (id int64, s session) {
	f.Int() // skip the version of the protocol
	s.timeout = time.Duration(f.Int()) * time.Millisecond
	id, s.password = f.Long(), f.Text()
	return id, s
}
