package sim

import "time"

// This file models how TCP handles lost segments, with Linux's default timings (ip-sysctl, tcp(7)). In this model, a
// segment is lost if it reaches a host that is off, or if it belongs to a handshake and the link is cut. All other
// bytes are held back while a link is cut, and are sent when the cut heals.
const (
	// An unanswered SYN is sent again after 1 s. Each wait is twice as long as the one before: the SYN is resent 1, 3,
	// 7, 15, 31 and 63 s after the first one (tcp_syn_retries = 6). The attempt fails after 127 s.
	synWait    = time.Second
	synRetries = 6
	// Unacknowledged data is sent again after 200 ms (TCP_RTO_MIN applies, because the round trip is much faster). Each
	// wait is twice as long as the one before, up to two minutes. The connection breaks when the data would be resent
	// for the 16th time (tcp_retries2 = 15).
	dataWait        = 200 * time.Millisecond
	longestDataWait = 2 * time.Minute
	dataRetries     = 15
	// An idle connection is probed every 15 s, and breaks after nine unanswered probes. These are the settings of Go's
	// net.Dialer.
	probeWait = 15 * time.Second
	probes    = 9
)

// handshake opens a connection. A SYN travels to the server's machine, and the machine's answer travels back. The
// server process is not involved.
type handshake struct {
	c      *conn
	drawn  uint64 // its delays depend on this number
	begun  Time   // when the last SYN was sent
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

// travel sends a handshake segment over a link. If the link is cut, the segment is lost. last is when the last segment
// on the link arrives.
func (m *handshake) travel(l *link, last *Time) {
	if l.cuts > 0 {
		m.lose()
		return
	}
	*last = max(*last, l.w.now+l.draw("", "connect", m.drawn)+l.extra)
	l.w.schedule(*last, m, 0)
}

// lose schedules the next retry of the SYN.
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

// end tells the client the result of its dial.
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

// resend schedules the retry of a request that was sent to a host that is off. If the connection is not open yet, it
// was the SYN that was lost, so the waiting times for a SYN apply.
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

// resent is the event that sends a request again.
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

// forgotten reports whether the task is no longer waiting for the reply to its request.
func (m *message) forgotten() bool {
	return m.t != nil && (m.t.done || !m.t.call.open || m.call != m.t.call.number)
}

// keepAlive probes a connection to a server that has lost power. After a restart, the server's machine no longer knows
// about the connection.
type keepAlive struct {
	c          *conn
	unanswered int
}

// keepAlive starts probing the pipes that were open when the server stopped.
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
