package sim

import "time"

// This file models how TCP handles lost segments, with the times of Linux (ip-sysctl, tcp(7)). In this model, a segment
// is lost if it reaches a host that is off, or if it belongs to a handshake and meets a cut. Other bytes are held back
// by a cut and sent when it heals.
const (
	// A SYN that is not answered is sent again after 1 s, and then after twice the previous wait: 1, 3, 7, 15, 31 and
	// 63 s after the first (tcp_syn_retries = 6). The attempt fails after 127 s.
	synWait    = time.Second
	synRetries = 6
	// Data that is not acknowledged is sent again after 200 ms (TCP_RTO_MIN, because the path is much faster), and then
	// after twice the previous wait, up to two minutes. The connection breaks when the data would be sent again for the
	// 16th time (tcp_retries2 = 15).
	dataWait        = 200 * time.Millisecond
	longestDataWait = 2 * time.Minute
	dataRetries     = 15
	// A connection without traffic is probed every 15 s, and breaks when nine probes are not answered. These are the
	// settings of Go's net.Dialer.
	probeWait = 15 * time.Second
	probes    = 9
)

// handshake opens a connection: it travels to the server's machine, which answers without the server process, and back.
type handshake struct {
	c      *conn
	drawn  uint64 // part of the key from which its delays are drawn
	begun  Time   // when its latest SYN was sent
	sent   int    // number of SYNs so far
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

// travel sends a segment of the handshake on a link, unless the link is cut. last is the arrival time of the latest
// segment there.
func (m *handshake) travel(l *link, last *Time) {
	if l.cuts > 0 {
		m.lose()
		return
	}
	*last = max(*last, l.w.now+l.draw("", "connect", m.drawn)+l.extra)
	l.w.schedule(*last, m, 0)
}

// lose schedules the time at which the SYN is sent again.
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
			c.life, m.status, c.pending = p.life, Answered, p.paused > 0
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

// resend schedules the time at which a request that reached a host which is off is sent again. Before the connection is
// open, it stands for a SYN that was lost.
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

// resent is a request that is to be sent again.
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

// forgotten reports whether nobody waits for the reply to a request any more.
func (m *message) forgotten() bool {
	return m.t != nil && (m.t.done || !m.t.call.open || m.call != m.t.call.number)
}

// keepAlive probes a connection whose server has lost its power. After a restart, the server's machine does not know
// the connection.
type keepAlive struct {
	c          *conn
	unanswered int
}

// keepAlive begins to probe the pipes that a server leaves behind when its life ends.
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
