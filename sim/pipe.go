package sim

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Pipe is a connection of code that is not a task: of an unmodified client library. Its requests, which a [Wire] makes
// of bytes, are messages like those of Env.Call, so that every fault means the same for them. Pipes belong to a client
// process and share its pauses and its crash.
type Pipe struct {
	// Concurrent lets the server take requests although earlier ones of this pipe are unanswered.
	Concurrent bool

	c       *conn
	end     Endpoint
	busy    bool       // the server has a request of this pipe that it has not answered
	waiting []*message // have arrived and are executed one after the other
}

// Endpoint is the client's end of a pipe. The kernel calls it as part of an event; it must not touch the world.
type Endpoint interface {
	// Opened reports how dialling ended: Answered if somebody listens there, else Refused. It is not called for a host
	// that is down.
	Opened(Status)
	// Received takes bytes that have arrived, which are valid until it returns. They answer a request, or are pushed
	// without one.
	Received(b []byte, to *Incoming)
	// Ended reports that nothing more will arrive: Reset if the connection broke, NoReply if the server closed it.
	Ended(Status)
}

// ErrProtocol reports bytes that no client of Redis would send.
var ErrProtocol = errors.New("sim: the bytes written are no array of bulk strings, as RESP asks of a client")

// Dial opens a pipe from a client to a server. Bytes may be written once it is open.
func (w *World) Dial(from, to ProcessID, end Endpoint) *Pipe {
	client, server := w.process(from), w.process(to)
	c := w.newConn(client, server)
	c.name = Conn{to, int(c.id)}
	p := &Pipe{c: c, end: end}
	c.pipe = p
	client.conns = append(client.conns, c)
	c.up.trail(&handshake{c: c, drawn: uint64(client.Monotonic())})
	return p
}

// handshake opens a connection: it travels to the server's machine, which answers by itself, and back.
type handshake struct {
	c      *conn
	drawn  uint64 // keys the draws of its delays
	back   bool
	status Status
}

func (m *handshake) depart(extra Time) {
	c, l, last := m.c, m.c.up, &m.c.lastUp
	if m.back {
		l, last = c.down, &c.lastDown
	}
	*last = max(*last, l.w.now+l.draw("", "connect", m.drawn)+extra)
	l.w.schedule(*last, m, 0)
}

func (m *handshake) abandoned() bool { return m.c.closed }

func (m *handshake) act(uint64) {
	c := m.c
	if c.closed {
		return
	}
	if !m.back {
		p := c.server
		if p.down && p.off != ShutDown {
			return
		}
		m.back, m.status = true, Refused
		if !p.down {
			c.life, m.status = p.life, Answered
		}
		c.down.trail(m)
		return
	}
	if c.client.down || c.clientHolds(m) {
		return
	}
	c.client.w.digest.word(uint64(c.client.w.now) ^ c.down.name)
	if m.status == Refused {
		c.close()
	}
	c.pipe.end.Opened(m.status)
}

// Ask sends one request, on behalf of an attempt; phase is what it is for.
func (p *Pipe) Ask(args []string, of history.Attempt, phase string) {
	if p.c.closed {
		return
	}
	w := p.c.client.w
	m := w.newMessage()
	m.c, m.t, m.phase, m.state = p.c, nil, phase, toServer
	m.request = w.net.request()
	m.which = p.c.up.number(string(of), phase)
	m.reply.Status, m.reply.raw = NoReply, m.reply.raw[:0]
	m.in = Incoming{Client: p.c.client.id, ConnID: p.c.id, Attempt: of, Phase: phase, Args: args, left: w.now,
		answer: m.answered}
	m.send()
}

// Number identifies a pipe within a run: it is the number of its connection.
func (p *Pipe) Number() uint64 { return p.c.id }

// Close closes the pipe: bytes that wait to be sent are dropped, those in flight arrive.
func (p *Pipe) Close() {
	p.c.bid()
	p.c.close()
}

// CutRequest takes the first request of b; args is nil if it is not complete yet. The error is [ErrProtocol].
func CutRequest(b []byte) (args []string, rest []byte, err error) {
	n, rest, err := cutNumber(b, '*')
	if rest == nil || err != nil {
		return nil, nil, err
	}
	if n < 1 {
		return nil, nil, ErrProtocol
	}
	args = make([]string, 0, n)
	for range n {
		var size int
		if size, rest, err = cutNumber(rest, '$'); rest == nil || err != nil {
			return nil, nil, err
		}
		if len(rest) < size+2 {
			return nil, nil, nil
		}
		args = append(args, string(rest[:size]))
		rest = rest[size+2:]
	}
	return args, rest, nil
}

// longest is the most that Redis accepts for a number of arguments or for the length of one (networking.c).
const longest = 512 << 20

// cutNumber reads a line of RESP that is a kind and a number; rest is nil if it is not complete yet.
func cutNumber(b []byte, kind byte) (n int, rest []byte, err error) {
	if len(b) > 0 && b[0] != kind {
		return 0, nil, ErrProtocol
	}
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return 0, nil, nil
	}
	n, err = strconv.Atoi(string(bytes.TrimSuffix(b[min(1, end):end], []byte("\r"))))
	if err != nil || n < 0 || n > longest {
		return 0, nil, ErrProtocol
	}
	return n, b[end+1:], nil
}

// The methods below are for connections of all kinds: those of tasks have no pipe.

// defers keeps a request for later if the server has not answered the previous one. A connection's requests are
// executed one after the other.
func (p *Pipe) defers(m *message) bool {
	if p == nil || p.Concurrent {
		return false
	}
	if p.busy {
		p.waiting = append(p.waiting, m)
		return true
	}
	p.busy = true
	return false
}

// answered records that the server has answered a request. The next is executed as a separate event, since the server
// may still be busy with this one.
func (p *Pipe) answered() {
	if p == nil {
		return
	}
	p.busy = false
	if len(p.waiting) > 0 {
		p.c.client.w.schedule(p.c.client.w.now, p, 0)
	}
}

// act executes the next request.
func (p *Pipe) act(uint64) {
	c, server := p.c, p.c.server
	if p.busy || len(p.waiting) == 0 || c.life != server.life || server.down || server.holds(p, 0) {
		return
	}
	m := p.waiting[0]
	p.waiting = p.waiting[1:]
	p.busy = true
	m.state = atServer
	server.serve(&m.in)
}

func (p *Pipe) deliver(m *message) {
	if m.reply.Status == Answered {
		p.end.Received(m.reply.raw, &m.in)
		return
	}
	p.c.close()
	p.end.Ended(Reset)
}
