package realtime

import (
	"errors"
	"net"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Conn is a connection between a server in the simulated world and a client that runs as a process on the host. It has
// a socket on the client's side and a sim.Pipe on the server's side. Its methods must be called on the loop's goroutine
// (see Loop).
type Conn struct {
	Client, Server sim.ProcessID
	// State holds the handler's data. The Conn does not use it.
	State any

	front  *Front
	in     Source
	out    Sink
	secret string // the password for the client's ports
	wiring *Wiring
	wire   sim.Wire // set once the connection is accepted, if its protocol is not that of Redis

	known      bool      // whether the connection belongs to the client: it has given the password, or needs none
	refusals   int       // number of requests that were refused because the password was missing
	pipe       *sim.Pipe // set once the connection is accepted
	open       bool
	over       bool
	half       []byte // the beginning of an incomplete request
	early      []request
	unanswered int
}

type request struct {
	args  []string
	of    history.Attempt
	phase string
}

// newConn returns a connection for a socket. Call serve to start reading from and writing to the socket.
func newConn(f *Front, client, server sim.ProcessID, tcp *net.TCPConn, w *Wiring) (c *Conn, serve func()) {
	c = &Conn{Client: client, Server: server, front: f, secret: f.Secret(client), wiring: w}
	in, out := NewIn(tcp, c.Collect), NewOut(tcp)
	c.in, c.out = in, out
	return c, func() {
		go in.Run()
		go out.Run()
	}
}

// Source provides what a client has sent on a connection.
type Source interface {
	// Take reads everything that the client has sent so far, and reports whether Collected has something to return.
	Take() bool
	// Collected returns what has been read since the last call. ended is true if nothing more will arrive.
	Collected() (in []byte, ended bool)
	// Stop tells the source that Collected will not be called again.
	Stop()
}

// Sink accepts the bytes being sent to a client on a connection.
type Sink interface {
	// Add queues a copy of b. It returns false if too many bytes are queued.
	Add(b []byte) bool
	// Finish closes the connection after all queued bytes have been sent.
	Finish()
	// Reset resets the connection after all queued bytes have been sent.
	Reset()
}

// opener is a Sink that can leave the client's connection attempt pending until the attempt in the world has ended.
type opener interface {
	// Opened tells the sink how the connection attempt ended, as in [sim.Endpoint].
	Opened(sim.Status)
}

// Connect creates a connection that is known to belong to a client and therefore doesn't need a password. source
// provides the client's bytes. The caller must call Collect whenever bytes are available. w describes the connection's
// protocol; nil means Redis's.
func (f *Front) Connect(client, server sim.ProcessID, source Source, sink Sink, w *Wiring) *Conn {
	c := &Conn{Client: client, Server: server, front: f, in: source, out: sink, secret: f.Secret(client),
		wiring: w}
	c.begin()
	return c
}

// Collect makes the loop handle what the client has sent so far. It may be called on any goroutine.
func (c *Conn) Collect() { c.front.loop.Do(c.collect) }

// begin accepts the connection as one of the client's, and opens its pipe in the world.
func (c *Conn) begin() {
	w := c.front.loop.world
	c.known = true
	c.front.dismiss(c)
	if w.Down(c.Client) {
		c.over = true
		c.reset()
		return
	}
	c.front.conns[c.Client] = append(c.front.conns[c.Client], c)
	c.pipe = w.Dial(c.Client, c.Server, c)
	c.pipe.Concurrent = true
	if x := c.wiring; x != nil {
		c.wire, c.pipe.Concurrent = x.Caller.Wire(c.Server), !x.Serial
	}
}

// collect passes the bytes received so far on to the handler, one request at a time.
func (c *Conn) collect() {
	b, ended := c.in.Collected()
	if c.over {
		return
	}
	if c.wiring != nil {
		c.write(b, ended)
		return
	}
	if len(c.half) > 0 {
		b = append(c.half, b...)
	}
	if !c.known {
		if b = c.admit(b, ended); c.over || !c.known {
			c.half = b
			return
		}
	}
	for len(b) > 0 && !c.over {
		args, rest, err := cutRequest(b)
		if err != nil {
			c.front.handler.Malformed(c, b[:min(len(b), mostShown)])
			c.Send([]byte("-ERR Protocol error: fencepost: this is not a command\r\n"))
			c.Close()
			return
		}
		if len(args) == 0 {
			if len(rest) == len(b) {
				break
			}
			b = rest
			continue
		}
		b = rest
		c.front.handler.Asked(c, args)
	}
	c.half = b
	if ended && !c.over {
		c.Close()
	}
}

// write passes bytes from the client to the connection's wire.
func (c *Conn) write(b []byte, ended bool) {
	if !c.known {
		c.begin()
	}
	if len(b) > 0 && !c.over {
		err := c.wire.Written(line{c}, b)
		if unknown := (*sim.NotSimulatedError)(nil); err != nil && !(errors.As(err, &unknown) && unknown.Answered) {
			c.front.handler.Declined(c, err)
			c.Close()
		}
	}
	if ended && !c.over {
		c.Close()
	}
}

// line implements sim.Line for a connection. The connection's wire uses it to send and receive.
type line struct{ *Conn }

func (l line) Now() sim.Time    { return l.front.loop.world.Now() }
func (l line) Deliver(b []byte) { l.Send(b) }
func (l line) HangUp()          { l.Close() }

func (l line) Ask(args []string, of history.Attempt, phase string) {
	if !l.over {
		l.front.handler.Forwarded(l.Conn, args)
		l.ask(request{args, of, phase})
	}
}

// mostShown is the maximum number of bytes of malformed input in an error.
const mostShown = 60

func (c *Conn) fail(err error) {
	c.front.loop.Fail(err)
	c.Close()
}

// Forward sends the server a request that is part of an attempt. phase names the request's purpose.
func (c *Conn) Forward(args []string, of history.Attempt, phase string) {
	if c.over {
		return
	}
	if c.unanswered++; c.unanswered > MostUnanswered {
		c.fail(&FloodError{c.Client, c.Server})
		return
	}
	c.ask(request{args, of, phase})
}

// ask sends a request. If the connection is not open yet, ask holds the request until it is.
func (c *Conn) ask(r request) {
	if !c.open {
		c.early = append(c.early, r)
		return
	}
	c.pipe.Ask(r.args, r.of, r.phase)
}

// Number returns the connection's number, which is unique within a run, as in [sim.Incoming].
func (c *Conn) Number() uint64 { return c.pipe.Number() }

// Send sends a copy of b to the client.
func (c *Conn) Send(b []byte) {
	if !c.over && !c.out.Add(b) {
		c.Reset()
	}
}

// Close closes the connection once everything sent so far has reached the client.
func (c *Conn) Close() {
	if c.end() {
		c.out.Finish()
	}
}

// Reset resets the connection.
func (c *Conn) Reset() {
	if c.end() {
		c.reset()
	}
}

// end ends the connection in the world. It returns false if the connection had already ended.
func (c *Conn) end() bool {
	if c.over {
		return false
	}
	c.over = true
	c.front.forget(c)
	c.pipe.Close()
	return true
}

func (c *Conn) reset() {
	c.out.Reset()
	c.in.Stop()
}

// The methods below implement sim.Endpoint.

// Opened sends the requests that have been waiting for the connection. If no server is listening or the host does not
// answer, it ends the connection.
func (c *Conn) Opened(s sim.Status) {
	if o, waits := c.out.(opener); waits {
		o.Opened(s)
	}
	switch s {
	case sim.Answered:
	case sim.NoReply:
		c.front.handler.Ended(c, sim.Reset)
		return
	default:
		c.front.handler.Ended(c, s)
		return
	}
	c.open = true
	for _, r := range c.early {
		c.ask(r)
	}
	c.early = nil
}

// Received passes bytes from the server on to the handler or the wire.
func (c *Conn) Received(b []byte, to *sim.Incoming) {
	if c.wire != nil {
		c.wire.Arrived(line{c}, b, to)
		return
	}
	if to != nil {
		c.unanswered--
	}
	c.front.handler.Received(c, b, to)
}

// Ended notifies the handler that the server's side of the connection has ended.
func (c *Conn) Ended(s sim.Status) {
	if !c.over {
		c.front.handler.Ended(c, s)
	}
}
