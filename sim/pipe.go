package sim

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Pipe is a connection for code that is not a task, such as an unmodified client library. A [Wire] converts the bytes
// that the code writes into requests. They are sent like the requests of Env.Call, so every fault affects them in the
// same way. A pipe belongs to a client process, and pauses and crashes with it.
type Pipe struct {
	// Concurrent lets the server receive a request while this pipe's earlier requests are still unanswered.
	Concurrent bool

	c       *conn
	end     Endpoint
	busy    bool       // the server is executing a request of this pipe
	waiting []*message // requests that have arrived and wait until the earlier ones are answered
}

// Endpoint is the client's end of a pipe. The kernel calls it in the middle of an event, so it must not change the
// world.
type Endpoint interface {
	// Opened reports the result of dialing: Answered if the connection is open, Refused if no server is listening, and
	// NoReply if the host has not answered in time.
	Opened(Status)
	// Received handles bytes that have arrived: the reply to the given request, or a push if the request is nil. The
	// bytes are valid until Received returns.
	Received(b []byte, to *Incoming)
	// Ended reports that the connection has ended: Reset if it broke, NoReply if the server closed it.
	Ended(Status)
}

// ErrProtocol reports bytes that are not a valid Redis request.
var ErrProtocol = errors.New("sim: the client wrote bytes that are not a RESP array of bulk strings")

// Dial opens a pipe from a client to a server. Requests may be sent once end.Opened has been called with Answered.
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

// Ask sends one request on behalf of the given attempt. phase says what the request is for.
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

// WakeAt calls wake at the given time or, if the client is paused then, when the pause ends. It does not call wake if
// the client has crashed, or if due returns false at that time.
func (p *Pipe) WakeAt(at Time, due func() bool, wake func()) {
	w := p.c.client.w
	w.schedule(max(at, w.now), &pipeTimer{p.c.client, due, wake}, 0)
}

// pipeTimer is a timer for code that uses a pipe.
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

// Number returns the pipe's connection number, which identifies the pipe within a run.
func (p *Pipe) Number() uint64 { return p.c.id }

// Close closes the pipe. Bytes that have not been sent yet are dropped; bytes in flight still arrive.
func (p *Pipe) Close() {
	p.c.bid()
	p.c.close()
}

// CutRequest parses the first request in b. It returns the request's arguments and the bytes after it. If the request
// is still incomplete, args is nil and rest is b. If the request has no arguments, which Redis ignores, args is nil and
// rest is shorter than b. The only possible error is [ErrProtocol].
func CutRequest(b []byte) (args []string, rest []byte, err error) {
	n, rest, err := cutNumber(b, '*')
	switch {
	case rest == nil || err != nil:
		return nil, b, err
	case n < 1:
		return nil, rest, nil
	}
	args = make([]string, 0, min(n, len(rest)/len("$0\r\n\r\n"))) // n may be wrong, so it must not reserve memory
	for range n {
		var size int
		if size, rest, err = cutNumber(rest, '$'); rest == nil || err != nil {
			return nil, b, err
		}
		if size < 0 {
			return nil, b, ErrProtocol
		}
		if len(rest) < size+2 {
			return nil, b, nil
		}
		args = append(args, string(rest[:size]))
		rest = rest[size+2:]
	}
	return args, rest, nil
}

// longest is the maximum number of arguments in a request, and the maximum length of an argument in bytes. Redis's
// default for that length is the same (proto-max-bulk-len).
const longest = 512 << 20

// cutNumber parses a RESP line that consists of a type byte, which must equal kind, and a number. rest is nil if the
// line is incomplete.
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
	if err != nil || n > longest || text != strconv.Itoa(n) { // no plus sign and no leading zeros
		return 0, nil, ErrProtocol
	}
	return n, b[end+1:], nil
}

// The methods below are called for every connection. p is nil if the connection belongs to a task.

// defers queues a request if an earlier request is still unanswered. It reports whether it did so. A Concurrent pipe
// never queues requests.
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
// server may still be handling the one it has answered.
func (p *Pipe) answered() {
	if p == nil {
		return
	}
	p.busy = false
	if len(p.waiting) > 0 {
		p.c.client.w.schedule(p.c.client.w.now, p, 0)
	}
}

// act executes the next waiting request.
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
