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
	// Opened reports how dialling ended: Answered if somebody listens there, Refused if nobody does, and NoReply if the
	// host has not answered in time.
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
	(&handshake{c: c, drawn: uint64(client.Monotonic())}).begin()
	return p
}

// Ask sends one request, on behalf of an attempt; phase is what it is for.
func (p *Pipe) Ask(args []string, of history.Attempt, phase string) {
	if p.c.closed {
		return
	}
	w := p.c.client.w
	m := w.newMessage()
	m.c, m.t, m.phase, m.state = p.c, nil, phase, toServer
	m.request, m.resent = w.net.request(), 0
	m.which = p.c.up.number(string(of), phase)
	m.reply.Status, m.reply.raw = NoReply, m.reply.raw[:0]
	m.in = Incoming{Client: p.c.client.id, ConnID: p.c.id, Attempt: of, Phase: phase, Args: args, left: w.now,
		answer: m.answered}
	m.send()
}

// WakeAt calls wake at the given time, or after a pause that goes on then, unless due reports by then that it need not.
// A client that has crashed is not woken.
func (p *Pipe) WakeAt(at Time, due func() bool, wake func()) {
	w := p.c.client.w
	w.schedule(max(at, w.now), &pipeTimer{p.c.client, due, wake}, 0)
}

// pipeTimer wakes the code behind a pipe.
type pipeTimer struct {
	client *Process
	due    func() bool
	wake   func()
}

func (t *pipeTimer) act(uint64) {
	if !t.client.down && t.due() && !t.client.holds(t, 0) {
		t.wake()
	}
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
