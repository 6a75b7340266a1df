package sim

import "time"

// message is a request on its way to a server, or the reply on its way back. The same message is used for both.
type message struct {
	w     *World
	c     *conn
	t     *task  // the task that waits for the reply, or nil if a pipe sent the request
	call  uint64 // number of the Call that the request belongs to
	index int    // index of the request within the call
	phase string
	which uint64 // sequence number among the requests with the same attempt and phase
	in    Incoming
	// request is the request's number within the run, starting at 1.
	request uint64
	resent  int    // how many times the request was sent again
	command string // name of the request's command; set only if the run has inspectors
	state   messageState
	reply   Reply
	// answered is the method value m.answer, stored so that it is allocated only once.
	answered func([]byte)
}

type messageState uint8

const (
	toServer messageState = iota
	atServer
	toClient
)

func (w *World) newMessage() *message {
	n := &w.net
	if len(n.free) == 0 {
		m := &message{w: w}
		m.answered = m.answer
		if !w.opts.Endless { // endless runs do not keep a list of messages, because lost ones would pile up there
			n.messages = append(n.messages, m)
		}
		return m
	}
	m := n.free[len(n.free)-1]
	n.free = n.free[:len(n.free)-1]
	return m
}

// request returns the number for the next request.
func (n *network) request() uint64 {
	n.requests++
	return n.requests
}

func (m *message) release() { m.w.net.free = append(m.w.net.free, m) }

func (m *message) send() {
	l := m.link()
	n := l.next()
	if m.w.watch != nil && m.state == toServer {
		m.w.watchSend(m.c.client.id, m.c.server.id, n)
	} else if m.w.watch != nil {
		m.w.watchSend(m.c.server.id, m.c.client.id, n)
	}
	act := m.inspected(n)
	switch {
	case act.Lost && m.state == toServer:
		m.c.life = broken
		m.bounce(Reset)
		return
	case act.Lost, m.state == toClient && l.breaksAt(n):
		m.reply.Status = Reset
		m.c.life = broken
	}
	l.carry(m, n, act.Later)
}

// broken is the value of life (see Process) for a connection that was reset or that the server has closed. No server
// has been started that many times, so requests on the connection are not served.
const broken = ^uint64(0)

func (m *message) link() *link {
	if m.state == toServer {
		return m.c.up
	}
	return m.c.down
}

// depart schedules the arrival of the message. extra is added to the delay that was drawn for it.
func (m *message) depart(extra Time) {
	c, last := m.c, &m.c.lastUp
	if m.state == toClient {
		last = &c.lastDown
	}
	if c.fresh && m.state == toServer && c.down.cuts > 0 {
		c.down.held = append(c.down.held, heldParcel{m, extra}) // the handshake needs both directions
		return
	}
	attempt := string(m.in.Attempt)
	at := m.w.now + m.link().draw(attempt, m.phase, m.which) + extra
	if c.fresh && m.state == toServer {
		c.fresh = false
		at += c.up.draw(attempt, "connect "+m.phase, m.which) + c.down.draw(attempt, "connect "+m.phase, m.which)
	}
	*last = max(*last, at)
	m.w.net.underWay++
	m.w.schedule(*last, m, 0)
}

// clientHolds reports whether an event must wait because the client, who, is paused. If so, it stores the event until
// the pause ends. If the client is a real process on the host, events never wait: the host's kernel receives the bytes,
// and the process finds them when it continues.
func (c *conn) clientHolds(who actor) bool {
	return (c.pipe == nil || c.client.outside == nil) && c.client.holds(who, 0)
}

// abandoned reports whether the client has closed the connection. If so, it releases the message.
func (m *message) abandoned() bool {
	if m.c.closed {
		m.release()
	}
	return m.c.closed
}

func (m *message) act(uint64) {
	if m.state == toClient && m.c.clientHolds(m) {
		return
	}
	if m.state != toClient && m.c.server.holds(m, 0) {
		m.c.pending = m.c.pending || m.c.opened && m.c.life == 0
		return
	}
	m.w.net.underWay--
	if m.state == toServer {
		m.arrive()
	} else {
		m.comeBack()
	}
}

// arrive passes the request to the server. If the server is down but its machine is on, the machine refuses the
// connection. If the machine is off, the request is sent again later.
func (m *message) arrive() {
	p := m.c.server
	if p.down && p.off != ShutDown {
		m.resend()
		return
	}
	m.inspected(0)
	m.w.digest.word(uint64(m.w.now) ^ m.c.up.name)
	for _, a := range m.in.Args {
		m.w.digestText(a)
	}
	if m.c.life == 0 && !p.down {
		m.c.life = p.life
	}
	switch {
	case p.down:
		m.bounce(Refused)
	case m.c.life != p.life:
		m.bounce(Reset)
	case m.c.pipe.defers(m):
	default:
		m.state = atServer
		p.serve(&m.in)
	}
}

func (m *message) bounce(s Status) {
	m.state = toClient
	m.reply.Status = s
	m.send()
}

// answer implements Incoming.Reply.
func (m *message) answer(b []byte) {
	m.c.pipe.answered()
	if m.c.closed { // nobody is left to read the reply, so it is not sent
		m.release()
		return
	}
	m.reply.Status = Answered
	if b == nil {
		m.reply.Status = Reset
	}
	m.reply.raw = append(m.reply.raw[:0], b...)
	m.state = toClient
	m.send()
}

// comeBack delivers the reply to the pipe, or to the task if it is still waiting for the reply.
func (m *message) comeBack() {
	t := m.t
	if m.c.closed || m.c.client.down || t != nil && t.done {
		m.release()
		return
	}
	m.inspected(0)
	m.w.digest.word(uint64(m.w.now) ^ m.c.down.name)
	m.w.digestReply(m.reply.raw)
	if t == nil {
		m.c.pipe.deliver(m)
		m.release()
		return
	}
	p := &t.call
	if !p.open || m.call != p.number {
		m.release()
		return
	}
	m.reply.Pushed = m.c.pushed
	p.replies[m.index].take(&m.reply)
	p.left--
	m.release()
	if p.left == 0 || p.enough != nil && p.enough(p.replies) {
		t.resume()
	}
}

// Call implements Env.Call.
func (t *task) Call(timeout time.Duration, enough func([]Reply) bool, reqs ...Request) []Reply {
	t.proceed()
	p := &t.call
	p.number++
	p.open, p.left, p.enough = true, len(reqs), enough
	p.replies = resize(p.replies, len(reqs))
	if len(reqs) == 0 {
		return p.replies
	}
	for i := range reqs {
		t.request(i, &reqs[i])
	}
	t.sleepFor(timeout)
	t.yield()
	return p.replies
}

// CallInTurn implements Env.CallInTurn. The kernel sends all the requests without resuming the task in between, because
// switching to the task takes as long as a request.
func (t *task) CallInTurn(timeout time.Duration, each func(int, *Reply) bool, reqs ...Request) {
	t.proceed()
	if len(reqs) == 0 {
		return
	}
	t.turns = turns{each: each, timeout: timeout, requests: reqs}
	t.takeTurn()
	t.yield()
}

// turns is the state of a CallInTurn. The field each is nil if no CallInTurn is running.
type turns struct {
	each     func(int, *Reply) bool
	timeout  time.Duration
	requests []Request
	at       int  // index of the current request
	held     bool // the client was paused, so the next request is sent after the pause
}

// takeTurn sends a CallInTurn's next request.
func (t *task) takeTurn() {
	p := &t.call
	p.number++
	p.open, p.left, p.enough = true, 1, nil
	p.replies = resize(p.replies, 1)
	t.request(0, &t.turns.requests[t.turns.at])
	t.sleepFor(t.turns.timeout)
}

// nextTurn ends a CallInTurn's current request. It reports whether another request follows.
func (t *task) nextTurn() bool {
	s := &t.turns
	switch {
	case s.each == nil:
		return false
	case s.held:
		s.held = false
		t.takeTurn()
		return true
	}
	if s.each(s.at, &t.call.replies[0]) && s.at+1 < len(s.requests) {
		s.at++
		if s.held = t.p.paused > 0; s.held {
			t.p.w.schedule(t.p.w.now, t, t.wait)
		} else {
			t.takeTurn()
		}
		return true
	}
	*s = turns{}
	return false
}

func (t *task) request(i int, r *Request) {
	w := t.p.w
	m := w.newMessage()
	if m.c = t.p.conn(r.Conn); m.c.hungUp { // the server has closed this connection
		m.c.close()
		m.c = t.p.conn(r.Conn)
	}
	m.t, m.call, m.index, m.phase, m.state = t, t.call.number, i, r.Phase, toServer
	m.request, m.resent = w.net.request(), 0
	if r.Attempt != "" {
		m.which = m.c.up.number(string(r.Attempt), r.Phase)
	} else { // a session's own request, such as a ping; a count of them would depend on faults
		m.which = uint64(t.p.Monotonic())
	}
	// The message is reused: keep its old bytes out of the digest.
	m.reply.Status, m.reply.raw = NoReply, m.reply.raw[:0]
	// Set one field at a time, because a composite literal would be built in a temporary variable and then copied.
	in := &m.in
	in.Client, in.ConnID, in.Attempt, in.Phase, in.Args = t.p.id, m.c.id, r.Attempt, r.Phase, r.Args
	in.answer = m.answered
	m.send()
}

func (t *task) Close(name Conn) {
	t.proceed()
	t.p.closeConn(name)
}

// resize returns n empty replies. It reuses r's memory.
func resize(r []Reply, n int) []Reply {
	if more := n - cap(r); more > 0 {
		r = append(r[:cap(r)], make([]Reply, more)...)
	}
	r = r[:n]
	for i := range r {
		r[i].Status = NoReply
	}
	return r
}
