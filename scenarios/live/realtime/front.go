package realtime

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/fencepost-sim/fencepost/sim"
)

// Handler decides what to do with what clients send. It is called on the loop.
type Handler interface {
	// Asked is called for each complete request, in the order in which the connection's client sent them. Calling
	// Forward passes it on to the server.
	Asked(c *Conn, args []string)
	// Malformed is called for bytes that start no command. They are answered with an error, and the connection is
	// closed, as Redis does.
	Malformed(c *Conn, b []byte)
	// Forwarded is called for each request that a wire has made of what a client wrote, before it is passed on.
	Forwarded(c *Conn, args []string)
	// Declined is called for what a wire does not take. The connection is closed.
	Declined(c *Conn, why error)
	// Received is called for bytes that have arrived for the client, which are valid until it returns; to is the
	// request that they answer, nil if they are pushed. Calling Send passes them on to the client.
	Received(c *Conn, b []byte, to *sim.Incoming)
	// Ended is called when the connection has ended for the client: Refused if nobody listens there, Reset if it broke,
	// NoReply if the server has closed it. Answer the last with Close, the others with Reset.
	Ended(c *Conn, s sim.Status)
}

// Front listens for the clients of a world, on a port for each client and server. A caller must first give the password
// of that client, as Redis asks for one, or at a port of another protocol be a process of that client: others who can
// reach the port change nothing.
type Front struct {
	loop      *Loop
	handler   Handler
	listeners []net.Listener
	conns     map[sim.ProcessID][]*Conn // of each client, in the order in which they were opened; for the loop
	refused   map[sim.ProcessID]int     // connections that are not its own and were refused something; for the loop

	mu      sync.Mutex
	secrets map[sim.ProcessID]string // the password of each client's ports
	callers []*Conn                  // those that have not given the password yet, the oldest first
}

// NewFront makes a front that listens nowhere yet.
func NewFront(l *Loop, h Handler) *Front {
	return &Front{loop: l, handler: h, conns: map[sim.ProcessID][]*Conn{}, refused: map[sim.ProcessID]int{},
		secrets: map[sim.ProcessID]string{}}
}

// Wiring is what stands at ports whose protocol is not Redis', and which has no password of the run's.
type Wiring struct {
	Caller sim.Caller
	Serial bool // as the sim.Front says
	// Admits reports whether a connection, between an address of the host and one of this front's, is the client's own.
	// It is called on any goroutine, before a byte is read.
	Admits func(from, to netip.AddrPort) bool
}

// Listen opens a port on a host for the connections of a client to a server. It returns its address. With a wiring it
// is a port of another protocol than Redis', where a connection that is not the client's own is closed.
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
		c := newConn(f, client, server, socket.(*net.TCPConn), w)
		f.receive(c)
		if w != nil {
			f.loop.Do(c.collect)
		}
		go c.in.Run()
		go c.out.Run()
	}
}

func addressOf(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }

// Settled reports whether every connection is open: the handshakes have travelled. It is for the loop.
func (f *Front) Settled() bool {
	for _, list := range f.conns {
		if slices.ContainsFunc(list, func(c *Conn) bool { return !c.open }) {
			return false
		}
	}
	return true
}

// Drain takes everything that a client has sent by now, as sent at this moment. It is for the loop, and for a client
// that is stopped.
func (f *Front) Drain(client sim.ProcessID) {
	w := f.loop.world
	for _, c := range append(f.callersOf(client), f.conns[client]...) {
		if c.in.Take() {
			w.At(w.Now(), c.collect)
		}
	}
}

// drop takes everything that a client has sent by now, and then forgets its connections: it is about to be killed.
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
	for _, list := range f.conns {
		for _, c := range list {
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

// MostUnanswered is how many requests of a connection may be unanswered.
const MostUnanswered = 100_000

// FloodError reports a client that keeps asking without waiting for replies.
type FloodError struct{ Client, Server sim.ProcessID }

// Error says so.
func (e *FloodError) Error() string {
	return fmt.Sprintf("%s has sent %s more than %d requests without waiting for an answer", e.Client, e.Server,
		MostUnanswered)
}
