package sim

import "time"

// peerMessage is a message from one server to another. Servers are connected to each other: messages arrive in order,
// wait while the link is cut, and are lost if the receiver has died since they were sent.
type peerMessage struct {
	w        *World
	from, to *Process
	link     *link
	life     uint64 // the receiver's life (see Process) when the message was sent
	sender   uint64 // the sender's life when the message was sent
	phase    string
	body     any
	travel   Time
}

// Send sends body to another server's Receive method. The delay depends on phase and key, which identify the message.
func (p *Process) Send(to ProcessID, phase string, key Key, body any) {
	peer := p.w.process(to)
	m := &peerMessage{w: p.w, from: p, to: peer, link: p.w.link(p.id, to), life: peer.life, sender: p.life,
		phase: phase, body: body}
	m.travel = m.link.draw("", phase, uint64(key))
	p.sent(to, phase, body, m.travel)
	n := m.link.next()
	if p.w.watch != nil {
		p.w.watchSend(p.id, to, n)
	}
	m.link.carry(m, n, 0)
}

// Sent describes a message that a server sends on its own initiative, to another server or as a push to a client. It is
// passed to Options.Onlooker when the message departs.
type Sent struct {
	From, To ProcessID
	Phase    string
	Body     any           // a string if the message is a push
	At       time.Duration // time on the sender's monotonic clock
	Travel   time.Duration // the drawn delay; faults and the order of the connection may add to it
}

// sent passes a message to the onlooker, if there is one.
func (p *Process) sent(to ProcessID, phase string, body any, travel Time) {
	if f := p.w.opts.Onlooker; f != nil {
		f(Sent{p.id, to, phase, body, p.Monotonic(), travel.Duration()})
	}
}

func (m *peerMessage) depart(extra Time) {
	l := m.link
	l.lastMessage = max(l.lastMessage, m.w.now+m.travel+extra)
	m.w.schedule(l.lastMessage, m, 0)
}

// abandoned reports whether the receiver has died, or the sender died before the message left.
func (m *peerMessage) abandoned() bool {
	return m.to.life != m.life || m.from.life != m.sender || m.from.down
}

func (m *peerMessage) act(uint64) {
	if m.to.down || m.to.life != m.life || m.to.holds(m, 0) {
		return
	}
	m.w.digest.word(uint64(m.w.now) ^ m.link.name)
	m.w.digest.text(m.phase)
	m.to.server.(Peer).Receive(m.from.id, m.body)
}

// peerEnd tells a server that another server's process has ended, and that the connection between them is closed.
type peerEnd struct {
	from, to *Process
	link     *link
	life     uint64 // the receiver's life (see Process) when the notice was sent
	travel   Time
}

// endPeers tells a server's peers that it has ended, in the order in which the peers were added.
func (p *Process) endPeers() {
	if _, connected := p.server.(PeerCloser); !connected {
		return
	}
	for _, q := range p.w.procs {
		if _, wants := q.server.(PeerCloser); wants && q != p && !q.down {
			l := p.w.link(p.id, q.id)
			l.trail(&peerEnd{p, q, l, q.life, l.draw("", "end", p.life)})
		}
	}
}

func (m *peerEnd) depart(extra Time) {
	l := m.link
	l.lastMessage = max(l.lastMessage, m.from.w.now+m.travel+extra)
	m.from.w.schedule(l.lastMessage, m, 0)
}

func (m *peerEnd) abandoned() bool { return m.to.life != m.life }

func (m *peerEnd) act(uint64) {
	if m.to.down || m.to.life != m.life || m.to.holds(m, 0) {
		return
	}
	m.from.w.digest.word(uint64(m.from.w.now) ^ m.link.name)
	m.to.server.(PeerCloser).PeerClosed(m.from.id)
}

// push is data, or the end of the connection, that a server sends to a client without being asked. It arrives in
// sequence with the server's replies on that connection.
type push struct {
	w      *World
	c      *conn
	travel Time
	data   []byte
	over   bool // the server closed the connection; there is no data
}

// Push sends a copy of b over a connection to its client, which receives it in Env.Receive. If the connection is
// closed, Push does nothing. key identifies the content; the delay depends on it.
func (p *Process) Push(connID uint64, key Key, b []byte) {
	c := p.w.net.numbered(connID)
	if c != nil && c.life == p.life && c.server == p {
		m := &push{w: p.w, c: c, travel: c.down.draw("", "push", uint64(key)), data: append([]byte(nil), b...)}
		if p.w.opts.Onlooker != nil {
			p.sent(c.client.id, "push", string(b), m.travel)
		}
		c.down.carry(m, 0, 0)
	}
}

func (m *push) depart(extra Time) {
	c := m.c
	c.lastDown = max(c.lastDown, m.w.now+m.travel+extra)
	m.w.schedule(c.lastDown, m, 0)
}

func (m *push) abandoned() bool { return m.c.closed }

func (m *push) act(uint64) {
	c := m.c
	if c.closed || c.client.down || c.clientHolds(m) {
		return
	}
	if !m.over {
		m.w.digest.word(uint64(m.w.now) ^ c.down.name)
		m.w.digestReply(m.data)
	}
	switch {
	case m.over && c.pipe != nil:
		c.hungUp = true
		c.pipe.end.Ended(NoReply)
		return
	case m.over:
		c.hungUp = true
	case c.pipe != nil:
		c.pipe.end.Received(m.data, nil)
		return
	default:
		c.inbox = append(c.inbox, m.data)
		c.pushed++
	}
	c.wakeReader()
}

// hangUp returns the message that tells a client that the server has closed the connection. The message takes one
// network delay to arrive.
func (p *Process) hangUp(c *conn) *push {
	return &push{w: p.w, c: c, travel: c.down.draw("", "close", uint64(p.Monotonic())), over: true}
}

// HangUp closes a connection from the server's side.
func (p *Process) HangUp(connID uint64) {
	if c := p.w.net.numbered(connID); c != nil && c.life == p.life && c.server == p {
		c.life = broken
		c.down.trail(p.hangUp(c))
	}
}

// farewell tells a server that a client has closed its connection.
type farewell struct {
	c      *conn
	travel Time
}

// bid sends a farewell to the server if the server is a Closer, or if it is a PipeCloser and the connection is a pipe.
func (c *conn) bid() {
	_, notified := c.server.server.(Closer)
	if c.pipe != nil && !notified {
		_, notified = c.server.server.(PipeCloser)
	}
	if notified && !c.closed && !c.hungUp {
		c.up.trail(&farewell{c, c.up.draw("", "close", uint64(c.client.Monotonic()))})
	}
}

func (m *farewell) depart(extra Time) {
	c := m.c
	c.lastUp = max(c.lastUp, c.client.w.now+m.travel+extra)
	c.client.w.schedule(c.lastUp, m, 0)
}

func (m *farewell) abandoned() bool { return false }

// act handles the arrival of the farewell. It does not call Watch with a Moment, because once the client is gone, the
// server's state for the connection no longer matters.
func (m *farewell) act(uint64) {
	p := m.c.server
	switch {
	case p.down || m.c.life != p.life:
	case p.paused > 0:
		p.held = append(p.held, event{who: m})
	default:
		m.arrive(p.server)
	}
}

func (m *farewell) arrive(s Server) {
	switch s := s.(type) {
	case Closer:
		s.Closed(m.c.id)
	case PipeCloser:
		s.PipeClosed(m.c.id)
	}
}

// hangUpAll closes all connections to a server that is shutting down cleanly.
func (p *Process) hangUpAll() {
	for _, c := range p.w.net.all() {
		if c.server == p && c.life == p.life && !c.closed {
			c.down.carry(p.hangUp(c), 0, 0)
		}
	}
}

func (c *conn) wakeReader() {
	if r := c.reader; r.t != nil && !r.isOver() {
		c.reader = waiter{}
		r.t.woken = true
		r.t.p.w.schedule(r.t.p.w.now, r.t, r.wait)
	}
}

// Receive implements Env.Receive.
func (t *task) Receive(name Conn, timeout time.Duration, wake ...*Signal) ([]byte, Status) {
	t.proceed()
	c := t.p.conn(name)
	if len(c.inbox) == 0 && !c.hungUp {
		c.reader = waiter{t, t.wait}
		t.Sleep(timeout, wake...)
	}
	switch {
	case len(c.inbox) > 0:
		data := c.inbox[0]
		c.inbox = c.inbox[1:]
		return data, Answered
	case c.hungUp:
		return nil, Reset
	}
	return nil, NoReply
}
