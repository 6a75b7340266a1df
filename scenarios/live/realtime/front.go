package realtime

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/fencepost-sim/fencepost/sim"
)

// Handler decides how to handle what clients send. Its methods are called on the loop's goroutine (see Loop).
type Handler interface {
	// Asked is called for each complete request, in the order in which the client sent the requests on this connection.
	// To pass the request on to the server, call Forward.
	Asked(c *Conn, args []string)
	// Malformed is called for bytes that cannot be the beginning of a command. The front replies with an error and
	// closes the connection, as Redis does.
	Malformed(c *Conn, b []byte)
	// Forwarded is called for each request that a wire has derived from a client's bytes, before the request is passed
	// on.
	Forwarded(c *Conn, args []string)
	// Declined is called when a wire rejects a client's bytes. The front closes the connection.
	Declined(c *Conn, why error)
	// Received is called when bytes from the server have arrived for the client. The bytes are valid only during the
	// call. to is the request that they answer, or nil if they are a push. To pass the bytes on to the client, call
	// Send.
	Received(c *Conn, b []byte, to *sim.Incoming)
	// Ended is called when the server's side of the connection has ended. s is Refused if no process is listening on
	// the server's port, Reset if the connection broke, and NoReply if the server closed it. The handler must call
	// Close if s is NoReply, and Reset otherwise.
	Ended(c *Conn, s sim.Status)
}

// Front accepts connections from a world's clients, on one port for each pair of client and server. On a port that
// speaks Redis's protocol, a connecting process must first authenticate with the client's password, as with Redis. On
// any other port, the process must belong to the client. Connections from other processes have no effect on the run.
type Front struct {
	loop      *Loop
	handler   Handler
	listeners []net.Listener
	conns     map[sim.ProcessID][]*Conn // by client, in the order in which they were opened; only the loop uses it
	refused   map[sim.ProcessID]int     // number of refused connections at each client's ports; only the loop uses it

	mu      sync.Mutex
	secrets map[sim.ProcessID]string // the password for each client's ports
	// unauthenticated connections, in the order in which they were opened
	callers []*Conn
}

// NewFront returns a Front without ports.
func NewFront(l *Loop, h Handler) *Front {
	return &Front{loop: l, handler: h, conns: map[sim.ProcessID][]*Conn{}, refused: map[sim.ProcessID]int{},
		secrets: map[sim.ProcessID]string{}}
}

// Wiring configures ports that speak a protocol other than Redis's. Such ports do not require a password.
type Wiring struct {
	Caller sim.Caller
	Serial bool // see sim.Front
	// Admits reports whether a connection from a host address to one of this front's addresses comes from the client.
	// It is called before anything is read, on any goroutine.
	Admits func(from, to netip.AddrPort) bool
}

// Listen opens a port on a host for a client's connections to a server, and returns its address. If w is set, the port
// does not speak Redis's protocol, and connections that do not come from the client are closed.
func (f *Front) Listen(host string, client, server sim.ProcessID, w *Wiring) (*net.TCPAddr, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	f.listeners = append(f.listeners, ln)
	go f.accept(ln, client, server, w)
	return ln.Addr().(*net.TCPAddr), nil
}

func (f *Front) accept(ln net.Listener, client, server sim.ProcessID, w *Wiring) {
	for {
		socket, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			f.loop.Fail(fmt.Errorf("connections of %s to %s: %w", client, server, err))
			return
		}
		if w != nil && !w.Admits(addressOf(socket.RemoteAddr()), addressOf(socket.LocalAddr())) {
			socket.Close()
			f.loop.Do(func() { f.refused[client]++ })
			continue
		}
		c, serve := newConn(f, client, server, socket.(*net.TCPConn), w)
		f.receive(c)
		if w != nil {
			f.loop.Do(c.collect)
		}
		serve()
	}
}

func addressOf(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }

// Settled reports whether every connection is open, that is, all handshakes are complete. It must be called on the
// loop.
func (f *Front) Settled() bool {
	for _, list := range f.conns {
		if slices.ContainsFunc(list, func(c *Conn) bool { return !c.open }) {
			return false
		}
	}
	return true
}

// Drain handles everything a client has sent so far, as if it had been sent now. It must be called on the loop, while
// the client is stopped.
func (f *Front) Drain(client sim.ProcessID) {
	w := f.loop.world
	for _, c := range append(f.callersOf(client), f.conns[client]...) {
		if c.in.Take() {
			w.At(w.Now(), c.collect)
		}
	}
}

// drop handles everything a client has sent so far, and then closes its connections. It is called before the client is
// killed.
func (f *Front) drop(client sim.ProcessID) {
	for _, c := range f.callersOf(client) {
		if c.in.Take() {
			c.collect()
		}
	}
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
	for _, client := range slices.Sorted(maps.Keys(f.conns)) {
		for _, c := range f.conns[client] {
			c.reset()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.callers {
		c.reset()
	}
}

func (f *Front) forget(c *Conn) {
	f.conns[c.Client] = slices.DeleteFunc(f.conns[c.Client], func(o *Conn) bool { return o == c })
}

// MostUnanswered is the maximum number of unanswered requests on a connection.
const MostUnanswered = 100_000

// FloodError reports that a client keeps sending requests without waiting for replies.
type FloodError struct{ Client, Server sim.ProcessID }

// Error names the client and the server.
func (e *FloodError) Error() string {
	return fmt.Sprintf("%s has sent %s more than %d requests without waiting for a reply", e.Client, e.Server,
		MostUnanswered)
}
