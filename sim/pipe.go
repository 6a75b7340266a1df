package sim

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Pipe is a connection of code that is not a task, for example of an unmodified client library. A [Wire] converts the
// bytes of the code into requests. These are messages like those of Env.Call, so every fault has the same effect on
// them. A pipe belongs to a client process and shares its pauses and its crash.
type Pipe struct {
	// Concurrent lets the server receive requests while earlier ones of this pipe are unanswered.
	Concurrent bool

	c       *conn
	end     Endpoint
	busy    bool       // the server has a request of this pipe that it has not answered
	waiting []*message // requests that have arrived and wait to be executed in order
}

// Endpoint is the client's end of a pipe. The kernel calls it as part of an event, so it must not act on the world.
type Endpoint interface {
	// Opened reports how dialing ended: Answered if a server listens there, Refused if none does, and NoReply if the
	// host has not answered in time.
	Opened(Status)
	// Received handles bytes that have arrived, which are valid until it returns. They are the reply to the request to,
	// or a push if to is nil.
	Received(b []byte, to *Incoming)
	// Ended reports that nothing more will arrive: Reset if the connection broke, NoReply if the server closed it.
	Ended(Status)
}

// ErrProtocol reports bytes that no Redis client would send.
var ErrProtocol = errors.New("sim: the bytes written are no array of bulk strings, as RESP asks of a client")

// Dial opens a pipe from a client to a server. Requests may be sent once it is open.
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

// Ask sends one request on behalf of an attempt. phase says what the request is for.
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

// WakeAt calls wake at the given time or, if the client is paused then, after the pause. It does not call wake if due
// returns false at that time, or if the client has crashed.
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

// Number returns the number of the pipe's connection, which identifies the pipe within a run.
func (p *Pipe) Number() uint64 { return p.c.id }

// Close closes the pipe: bytes that wait to be sent are dropped, and bytes in flight still arrive.
func (p *Pipe) Close() {
	p.c.bid()
	p.c.close()
}

// CutRequest removes the first request from b. args is nil if the request is not complete yet. The only error is
// [ErrProtocol].
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

// longest is the maximum that Redis accepts for the number of arguments and for the length of an argument
// (networking.c).
const longest = 512 << 20

// cutNumber parses a line of RESP that consists of a kind and a number; rest is nil if the line is not complete yet.
func cutNumber(b []byte, kind byte) (n int, rest []byte, err error) {
	if len(b) > 0 && b[0] != kind {
		return 0, nil, ErrProtocol
	}
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return 0, nil, nil
	}
	text := string(bytes.TrimSuffix(b[min(1, end):end], []byte("\r")))
	n, err = strconv.Atoi(text)
	if err != nil || n < 0 || n > longest || text != strconv.Itoa(n) { // neither a plus sign nor leading zeros
		return 0, nil, ErrProtocol
	}
	return n, b[end+1:], nil
}

// The methods below are called for all connections; p is nil for the connection of a task.

// defers postpones a request if the server has not answered the previous one, and reports whether it did so: the
// requests of a pipe that is not Concurrent are executed in order.
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

// answered records that the server has answered a request. The next request is executed as a separate event, since the
// server may still be busy with this one.
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
