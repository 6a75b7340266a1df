package live

import (
	"net"
	"strings"
	"sync"
	"syscall"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Conn is a connection of a client of the host: a socket on one side, a pipe on the other. Its methods are for the
// loop.
type Conn struct {
	Client, Server sim.ProcessID
	// State is the handler's own.
	State any

	front  *Front
	socket *net.TCPConn
	raw    syscall.RawConn
	out    *writer

	// The rest up to mu is for the loop.
	pipe       *sim.Pipe // once something was forwarded, or at once if the server is one of the world's
	open       bool
	over       bool
	half       []byte // of a request that is not whole yet
	early      []request
	unanswered int

	mu    sync.Mutex
	in    []byte // read and not yet collected
	ended bool   // the client has closed its end
	noted bool   // the loop will collect
	room  *sync.Cond
}

type request struct {
	args  []string
	of    history.Attempt
	phase string
}

// mostRead is how many bytes may wait for the loop before the socket is read on.
const mostRead = 1 << 20

func newConn(f *Front, client, server sim.ProcessID, socket *net.TCPConn) *Conn {
	c := &Conn{Client: client, Server: server, front: f, socket: socket, out: newWriter(socket)}
	c.room = sync.NewCond(&c.mu)
	c.raw, _ = socket.SyscallConn()
	return c
}

// begin opens the pipe: the connection counts from now.
func (c *Conn) begin() {
	w := c.front.loop.world
	if w.Down(c.Client) {
		c.over = true
		c.reset()
		return
	}
	c.front.conns[c.Client] = append(c.front.conns[c.Client], c)
	c.pipe = w.Dial(c.Client, c.Server, c)
}

// read reads the socket until its end.
func (c *Conn) read() {
	for {
		err := c.raw.Read(func(fd uintptr) bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.receive(fd)
		})
		c.mu.Lock()
		if err != nil {
			c.ended = true
		}
		ended := c.ended
		c.note()
		for len(c.in) > mostRead && !c.ended {
			c.room.Wait()
		}
		c.mu.Unlock()
		if ended {
			return
		}
	}
}

// receive takes what the socket has. It reports whether there was something, or the end. It is called with mu held.
func (c *Conn) receive(fd uintptr) bool {
	var b [16 << 10]byte
	for {
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_DONTWAIT)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return false
		case err != nil || n == 0:
			c.ended = true
			return true
		default:
			c.in = append(c.in, b[:n]...)
			return true
		}
	}
}

// note has the loop collect. It is called with mu held.
func (c *Conn) note() {
	if !c.noted {
		c.noted = true
		c.front.loop.Do(c.collect)
	}
}

// take reads all that has come to the socket. It reports whether there is something to collect.
func (c *Conn) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Control(func(fd uintptr) {
		for !c.ended && c.receive(fd) {
		}
	})
	return len(c.in) > 0 || c.ended
}

// collect hands what was read to the handler, request by request.
func (c *Conn) collect() {
	c.mu.Lock()
	b, ended := c.in, c.ended
	c.in, c.noted = nil, false
	c.room.Signal()
	c.mu.Unlock()
	if c.over {
		return
	}
	if len(c.half) > 0 {
		b = append(c.half, b...)
	}
	for len(b) > 0 && !c.over {
		args, rest, err := sim.CutRequest(b)
		if err != nil {
			c.fail(&RequestError{Client: c.Client, Server: c.Server, Bytes: b})
			return
		}
		if args == nil {
			break
		}
		b = rest
		c.front.handler.Asked(c, args)
	}
	c.half = b
	if !ended || c.over {
		return
	}
	if len(b) > 0 {
		c.front.loop.Fail(&RequestError{Client: c.Client, Server: c.Server, Half: true, Bytes: b})
	}
	c.Close()
}

func (c *Conn) fail(err error) {
	c.front.loop.Fail(err)
	c.Close()
}

// Forward sends a request to the server, on behalf of an attempt; phase is what it is for.
func (c *Conn) Forward(args []string, of history.Attempt, phase string) {
	if c.over {
		return
	}
	if c.unanswered++; c.unanswered > MostUnanswered {
		c.fail(&FloodError{c.Client, c.Server})
		return
	}
	if !c.open {
		c.early = append(c.early, request{args, of, phase})
		return
	}
	c.pipe.Ask(args, of, phase)
}

// Number tells the connections of a run apart, as [sim.Incoming] does.
func (c *Conn) Number() uint64 { return c.pipe.Number() }

// Send gives bytes, which are copied, to the client.
func (c *Conn) Send(b []byte) {
	if !c.over && !c.out.add(b) {
		c.Reset()
	}
}

// Close closes the connection, after what was sent.
func (c *Conn) Close() {
	if c.end() {
		c.out.finish()
	}
}

// Reset resets the connection.
func (c *Conn) Reset() {
	if c.end() {
		c.reset()
	}
}

// end ends the connection for the world. It reports whether it was one.
func (c *Conn) end() bool {
	if c.over {
		return false
	}
	c.over = true
	c.front.forget(c)
	c.pipe.Close()
	return true
}

// reset resets the socket.
func (c *Conn) reset() {
	c.out.reset()
	c.mu.Lock()
	c.ended = true
	c.room.Signal()
	c.mu.Unlock()
}

// The methods below are the sim.Endpoint.

// Opened lets what was sent go, or breaks the connection where nobody listens.
func (c *Conn) Opened(s sim.Status) {
	if s != sim.Answered {
		c.front.handler.Ended(c, s)
		return
	}
	c.open = true
	for _, r := range c.early {
		c.pipe.Ask(r.args, r.of, r.phase)
	}
	c.early = nil
}

// Answering tells the handler.
func (c *Conn) Answering(to *sim.Incoming, reply []byte) {
	if !c.over {
		c.front.handler.Answering(c, to, reply)
	}
}

// Received tells the handler.
func (c *Conn) Received(b []byte, to *sim.Incoming) {
	if to != nil {
		c.unanswered--
	}
	c.front.handler.Received(c, b, to)
}

// Ended tells the handler.
func (c *Conn) Ended(s sim.Status) {
	if !c.over {
		c.front.handler.Ended(c, s)
	}
}

// Tag is for requests that a pipe cuts by itself.
func (c *Conn) Tag(args []string) (history.Attempt, string) { return "", strings.ToLower(args[0]) }

// Told is what a digest takes: a run in real time has none that could be compared.
func (c *Conn) Told(string) string { return "" }
