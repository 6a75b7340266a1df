package live

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/fencepost-sim/fencepost/sim"
)

// Handler decides what becomes of what clients say. It is called on the loop.
type Handler interface {
	// Asked tells of a whole request, in the order in which the connection's client sent them. To let it go to the
	// server is to call Forward.
	Asked(c *Conn, args []string)
	// Received tells of bytes that have arrived for the client, which are valid until it returns; to is the request
	// that they answer, nil if they are pushed. To let the client have them is to call Send.
	Received(c *Conn, b []byte, to *sim.Incoming)
	// Ended tells that the connection has ended for the client: Refused if nobody listens there, Reset if it broke,
	// NoReply if the server has closed it. The last is to be answered by Close, the others by Reset.
	Ended(c *Conn, s sim.Status)
}

// Front listens for the clients of a world, on a port for each client and server.
type Front struct {
	loop      *Loop
	handler   Handler
	listeners []net.Listener
	conns     map[sim.ProcessID][]*Conn // of each client, in the order in which they were opened; for the loop
}

// NewFront makes a front that listens nowhere yet.
func NewFront(l *Loop, h Handler) *Front {
	return &Front{loop: l, handler: h, conns: map[sim.ProcessID][]*Conn{}}
}

// Listen opens a port on a host for the connections of a client to a server. It gives its address.
func (f *Front) Listen(host string, client, server sim.ProcessID) (*net.TCPAddr, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	f.listeners = append(f.listeners, ln)
	go f.accept(ln, client, server)
	return ln.Addr().(*net.TCPAddr), nil
}

func (f *Front) accept(ln net.Listener, client, server sim.ProcessID) {
	for {
		socket, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			f.loop.Fail(fmt.Errorf("connections of %s to %s: %w", client, server, err))
			return
		}
		c := newConn(f, client, server, socket.(*net.TCPConn))
		f.loop.Do(c.begin)
		go c.in.Run()
		go c.out.Run()
	}
}

// Settled reports whether every connection is open: the handshakes have travelled. It is for the loop.
func (f *Front) Settled() bool {
	for _, list := range f.conns {
		if slices.ContainsFunc(list, func(c *Conn) bool { return !c.open }) {
			return false
		}
	}
	return true
}

// Drain takes all that a client has sent by now, as sent at this moment. It is for the loop, and for a client that
// stands still.
func (f *Front) Drain(client sim.ProcessID) {
	w := f.loop.world
	for _, c := range f.conns[client] {
		if c.in.Take() {
			w.At(w.Now(), c.collect)
		}
	}
}

// drop takes all that a client has sent by now, and then forgets its connections: it is about to be killed.
func (f *Front) drop(client sim.ProcessID) {
	for _, c := range slices.Clone(f.conns[client]) {
		if c.in.Take() {
			c.collect()
		}
		c.over = true
		c.reset()
	}
	delete(f.conns, client)
}

// Close closes all ports and resets all connections. The loop must have ended.
func (f *Front) Close() {
	for _, ln := range f.listeners {
		ln.Close()
	}
	for _, list := range f.conns {
		for _, c := range list {
			c.reset()
		}
	}
}

func (f *Front) forget(c *Conn) {
	f.conns[c.Client] = slices.DeleteFunc(f.conns[c.Client], func(o *Conn) bool { return o == c })
}

// MostUnanswered is how many requests of a connection may be without an answer.
const MostUnanswered = 100_000

// FloodError reports a client that goes on asking without waiting for answers.
type FloodError struct{ Client, Server sim.ProcessID }

// Error says so.
func (e *FloodError) Error() string {
	return fmt.Sprintf("%s has sent %s more than %d requests without waiting for an answer", e.Client, e.Server,
		MostUnanswered)
}

// RequestError reports bytes that are no request, or half of one at the end of a connection.
type RequestError struct {
	Client, Server sim.ProcessID
	Half           bool
	Bytes          []byte // with which it begins
}

// Error says what was sent.
func (e *RequestError) Error() string {
	shown := e.Bytes[:min(len(e.Bytes), 60)]
	if e.Half {
		return fmt.Sprintf("%s closed its connection to %s in the middle of a command, after %q", e.Client, e.Server,
			shown)
	}
	return fmt.Sprintf("%s sent %s what is no command of a Redis client: %q", e.Client, e.Server, shown)
}
