package sim

import "time"

// What TCP does about segments that get lost, with the times of Linux (ip-sysctl, tcp(7)). Here those get lost that
// reach a host which is off, and of a handshake those that meet a cut. Bytes that a cut holds back leave as it heals.
const (
	// A SYN that is not answered is sent again after 1 s, then after twice the wait before: 1, 3, 7, 15, 31 and 63 s
	// after the first (tcp_syn_retries = 6). The attempt ends after 127 s.
	synWait    = time.Second
	synRetries = 6
	// Data that is not acknowledged is sent again after 200 ms (TCP_RTO_MIN, the path being much faster), then after
	// twice the wait before, up to two minutes. The connection breaks when it would be sent a 16th time
	// (tcp_retries2 = 15).
	dataWait        = 200 * time.Millisecond
	longestDataWait = 2 * time.Minute
	dataRetries     = 15
	// A connection without traffic is probed every 15 s, and breaks when nine probes are not answered: what Go's
	// net.Dialer sets.
	probeWait = 15 * time.Second
	probes    = 9
)

// handshake opens a connection: it travels to the server's machine, which answers by itself, and back.
type handshake struct {
	c      *conn
	drawn  uint64 // keys the draws of its delays
	begun  Time   // when its SYN left
	sent   int    // SYNs so far
	state  handshakeState
	status Status
}

type handshakeState uint8

const (
	synLeft handshakeState = iota
	synLost
	synAnswered
)

// begin sends the SYN, for the first time or again.
func (m *handshake) begin() {
	m.begun, m.state = m.c.up.w.now, synLeft
	m.sent++
	m.travel(m.c.up, &m.c.lastUp)
}

// travel sends it on a link, unless that is cut. last is the arrival of the latest segment there.
func (m *handshake) travel(l *link, last *Time) {
	if l.cuts > 0 {
		m.lose()
		return
	}
	*last = max(*last, l.w.now+l.draw("", "connect", m.drawn)+l.extra)
	l.w.schedule(*last, m, 0)
}

// lose waits until the SYN is to be sent again.
func (m *handshake) lose() {
	m.state = synLost
	w := m.c.up.w
	w.schedule(max(w.now, m.begun+Time(synWait)<<(m.sent-1)), m, 0)
}

func (m *handshake) act(uint64) {
	c, p := m.c, m.c.server
	switch {
	case c.closed:
	case m.state == synLost && m.sent <= synRetries:
		m.begin()
	case m.state == synLost:
		m.end(NoReply)
	case m.state == synAnswered:
		m.end(m.status)
	case p.down && p.off != ShutDown:
		m.lose()
	default:
		m.state, m.status = synAnswered, Refused
		if !p.down {
			c.life, m.status = p.life, Answered
		}
		m.travel(c.down, &c.lastDown)
	}
}

// end ends the dial for the client.
func (m *handshake) end(s Status) {
	c := m.c
	if c.client.down || c.clientHolds(m) {
		return
	}
	c.client.w.digest.word(uint64(c.client.w.now) ^ c.down.name)
	if s != Answered {
		c.close()
	}
	c.pipe.end.Opened(s)
}

// resend waits until a request is to be sent again that has reached a host which is off. Before its connection is open
// it is a SYN that was lost.
func (m *message) resend() {
	wait := dataWait
	if m.c.life == 0 {
		wait = synWait
	}
	for range m.resent {
		wait = min(2*wait, longestDataWait)
	}
	m.resent++
	m.w.schedule(m.w.now+Time(wait), (*resent)(m), 0)
}

// resent is a request that is sent again.
type resent message

func (r *resent) act(uint64) {
	m, c := (*message)(r), r.c
	retries := dataRetries
	if c.life == 0 {
		retries = synRetries
	}
	switch {
	case c.closed || c.client.down || m.forgotten():
		m.release()
		return
	case m.resent > retries:
		m.state, m.reply.Status = toClient, Reset
	case c.up.cuts > 0:
		m.resend()
		return
	}
	m.w.net.underWay++
	m.act(0)
}

// forgotten reports that nobody waits for the answer to a request any more.
func (m *message) forgotten() bool {
	return m.t != nil && (m.t.done || !m.t.call.open || m.call != m.t.call.number)
}

// keepAlive probes a connection whose server has lost its power: after a restart its machine knows no such connection.
type keepAlive struct {
	c          *conn
	unanswered int
}

// keepAlive begins the probes of the pipes that the life of a server leaves behind.
func (p *Process) keepAlive() {
	for _, c := range p.w.net.all() {
		if c.server == p && c.pipe != nil && c.life == p.life && !c.closed {
			p.w.schedule(p.w.now+Time(probeWait), &keepAlive{c: c}, 0)
		}
	}
}

func (k *keepAlive) act(uint64) {
	c, p := k.c, k.c.server
	if c.closed || c.hungUp || c.client.down {
		return
	}
	if p.down && p.off != ShutDown || c.up.cuts+c.down.cuts > 0 {
		if k.unanswered++; k.unanswered < probes {
			p.w.schedule(p.w.now+Time(probeWait), k, 0)
			return
		}
	}
	if !c.clientHolds(k) {
		p.w.digest.word(uint64(p.w.now) ^ c.down.name)
		c.close()
		c.pipe.end.Ended(Reset)
	}
}
