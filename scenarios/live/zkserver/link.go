package zkserver

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// call is a request under way. Only the world's goroutine may touch the kernel's part, Incoming.
type call struct {
	*sim.Incoming
	args    []string
	attempt history.Attempt
	xid     int32
}

// link is the connection to the member's process that corresponds to one connection of a client.
type link struct {
	x      *life
	id     uint64
	client history.Process
	raw    bool // the client sends frames of ZooKeeper's protocol, which are passed on

	mu     sync.Mutex
	news   *sync.Cond // signals that there is something to send, or that the link is closed
	conn   net.Conn   // nil until it is connected
	calls  []*call    // not answered yet, the oldest first
	said   int        // how many of these have been sent
	number int32      // number of the latest request
	closed bool

	// The fields below belong to the goroutine that reads.
	session int64
	events  int64 // number of events pushed

	// The fields below belong to the world's goroutine.
	entered bool // there is a session
	quiet   bool // the client already knows that the connection ends
	over    bool
}

func newLink(x *life, id uint64, client history.Process, first *call) *link {
	l := &link{x: x, id: id, client: client, raw: first.args[0] == zookeeper.ReqEnter, calls: []*call{first}, said: 1}
	l.news = sync.NewCond(&l.mu)
	context.AfterFunc(x.Context, l.close)
	return l
}

// add sends a request after those before it.
func (l *link) add(c *call) {
	l.mu.Lock()
	l.calls = append(l.calls, c)
	l.news.Signal()
	l.mu.Unlock()
}

// close closes the connection.
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
	if l.open() && l.connect(first) {
		go l.write()
		for l.read() {
		}
	}
	l.close()
	l.deliver(l.hangUp)
}

// deliver runs f on the world's goroutine, unless the client has closed the connection.
func (l *link) deliver(f func()) {
	l.x.Do(func() {
		if !l.over {
			f()
		}
	})
}

// hangUp notifies the client that the connection has ended. Requests that are still waiting are answered with
// ClosedReply.
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
	if l.entered && !l.quiet {
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

// connect asks for the session that the client's first request asks for, and answers the client. It reports whether
// there is a session.
func (l *link) connect(first *call) bool {
	if l.raw {
		return l.enter(first)
	}
	m := l.x.m
	number := func(i int) int64 {
		if i >= len(first.args) {
			return 0
		}
		n, _ := strconv.ParseInt(first.args[i], 10, 64)
		return n
	}
	s, err := m.ensemble.enter(l.conn, number(3), number(2), number(1), m.ensemble.sessions.get(number(1)).password)
	if err != nil {
		return false
	}
	if s.id == 0 {
		if l.x.eye.upTo(now) {
			l.answer(first, 0, zookeeper.AppendCode(nil, zookeeper.SessionExpired), func() { l.quiet = true })
		}
		return false
	}
	l.session = s.id
	m.ensemble.sessions.set(s.id, session{l.client, s.password, s.timeout})
	at, err := whereIs(l.conn)
	if err != nil || !l.x.eye.upTo(at) {
		return false
	}
	body := sim.AppendInt(sim.AppendInt(sim.AppendArray(nil, 2), s.id), s.timeout.Milliseconds())
	l.answer(first, at, body, func() { l.entered = true })
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
		l.number++
		b, path := l.sent(c)
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

// sent returns a request as it is sent to the process, and the path of the znode that it would create. The link is
// locked.
func (l *link) sent(c *call) (b []byte, path string) {
	if l.raw {
		return l.passed(c)
	}
	c.xid = xidOf(c.args, l.number)
	if c.args[0] == zookeeper.ReqCreate && len(c.args) > 1 {
		path = c.args[1]
	}
	return request(c.xid, c.args), path
}

// read receives and handles the next message of the process. It returns false at the end of the connection.
func (l *link) read() bool {
	f, err := jute.ReadFrame(l.conn)
	if err != nil {
		return false
	}
	whole := jute.Record(f.Rest)
	xid, at, code := f.Int(), f.Long(), f.Int()
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
	if l.raw {
		l.reply(c, whole.Framed(), func() {})
		return true
	}
	l.answer(c, at, answer(c.args, code, &f), func() { l.quiet = l.quiet || c.args[0] == zookeeper.ReqClose })
	return !f.Torn
}

// asked returns the first request that was sent with the given number; nil if there is none. Replies can overtake
// others only if the client's own frames are passed on, namely replies to a password.
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

// answer answers a request in the form of package zookeeper.
func (l *link) answer(c *call, at int64, body []byte, also func()) {
	l.reply(c, append(zookeeper.AppendHead(nil, zookeeper.Zxid(at), l.events), body...), also)
}

// reply answers a request that was sent.
func (l *link) reply(c *call, b []byte, also func()) {
	l.mu.Lock()
	l.calls = slices.DeleteFunc(l.calls, func(o *call) bool { return o == c })
	l.said--
	l.mu.Unlock()
	l.deliver(func() {
		also()
		c.Reply(b)
	})
}

// event passes on an event of a watch.
func (l *link) event(f *jute.Fields, whole jute.Record) bool {
	kind := f.Int()
	f.Int() // the connection's state
	e := zookeeper.Event{Type: eventTypes[kind], Path: f.Text()}
	if e.Type == "" && !l.raw {
		return true
	}
	if !l.x.eye.upTo(now) { // a member that serves nobody has ended this connection, too
		return false
	}
	l.events++
	b := zookeeper.AppendEvent(nil, l.events, e)
	if l.raw {
		b = whole.Framed()
	}
	key := sim.Key(l.events).Text(e.Path).Text(string(e.Type))
	l.deliver(func() { l.x.m.Host.Push(l.id, key, b) })
	return true
}

// entered is a session as a member has confirmed it. Its id is 0 if the session has ended.
type entered struct {
	id       int64
	timeout  time.Duration
	password string
}

// noPassword is the password that a client without a session sends.
const noPassword = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// enter asks for a session on a new connection; id 0 asks for a new session.
func (e *ensemble) enter(conn net.Conn, seen, timeout, id int64, password string) (s entered, err error) {
	if password == "" {
		password = noPassword
	}
	ask := jute.ConnectRequest{Seen: seen, Timeout: int32(timeout), Session: id, Password: password}
	if _, err := conn.Write(ask.Record().Framed()); err != nil {
		return s, err
	}
	f, err := jute.ReadFrame(conn)
	if err != nil {
		return s, err
	}
	f.Int() // the version of the protocol
	s.timeout = time.Duration(f.Int()) * time.Millisecond
	if s.id, s.password = f.Long(), f.Text(); s.id == 0 {
		return s, nil
	}
	return s, e.authenticate(conn)
}

// whereIs returns the last zxid of the member. Nothing else may have been asked on the connection before.
func whereIs(conn net.Conn) (zxid int64, err error) {
	if _, err := conn.Write(jute.Head(xidLook, jute.Exists).Text("/").Flag(false).Framed()); err != nil {
		return 0, err
	}
	f, err := jute.ReadFrame(conn)
	f.Int()
	return f.Long(), err
}
