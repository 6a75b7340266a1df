package bubble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// errOver is the error of a guest's writes and dials after the end of the run, and of its reads unless their connection
// had ended before.
var errOver = fmt.Errorf("bubble: the run is over: %w", syscall.ECONNRESET)

// Conn is a guest's end of a simulated connection. It implements [net.Conn].
type Conn struct {
	guest  *Guest
	server sim.ProcessID
	pipe   *sim.Pipe // set when the driver has handled the dial
	wire   sim.Wire
	wake   chan struct{}

	// The fields below are protected by the run's mu.
	out      []byte // written by the guest and not collected yet
	turns    []turn // which tasks wrote out, if the guest has several
	in       []byte // arrived and not read yet
	open     bool
	err      error // the error of reads when in is empty and, unless it is io.EOF, of writes
	closed   bool  // closed by the guest
	listed   bool  // the connection is in Guest.changed
	blocked  bool  // a read or the dial is blocked
	deadline time.Time
	expired  bool      // the deadline has passed, and the world has told the guest so
	armed    time.Time // when the world will next check the deadline; zero if it will not
}

// Addr returns a server's address.
func (r *run) Addr(server sim.ProcessID) string { return r.addr(server).String() }

// Addrs returns the addresses of all servers.
func (r *run) Addrs() (all []string) {
	for _, s := range r.servers {
		all = append(all, r.Addr(s))
	}
	return all
}

func (r *run) addr(server sim.ProcessID) *net.TCPAddr {
	return &net.TCPAddr{IP: net.IPv4(10, 0, 0, byte(1+slices.Index(r.servers, server))).To4(), Port: r.front.Port()}
}

// Host returns the IP address of the server with the given name, or nil if there is no such server.
func (r *run) Host(name string) net.IP {
	if server := sim.ProcessID(name); slices.Contains(r.servers, server) {
		return r.addr(server).IP
	}
	return nil
}

// AddressError is the error from dialing an address that does not belong to any of the world's servers.
type AddressError struct {
	Client  sim.ProcessID
	Address string
	Servers []string // the addresses that exist
}

// Error returns a message with the address that was dialed and the addresses that exist.
func (e *AddressError) Error() string {
	return fmt.Sprintf("%s dialed %s, which is not a server of the simulated world: its servers are %s",
		e.Client, e.Address, strings.Join(e.Servers, ", "))
}

// DialContext opens a connection to one of the world's servers. The address contains the server's IP address, or its
// name as reported by Sentinel. The port is ignored. For any other address, DialContext returns an *AddressError, and
// the run fails.
func (g *Guest) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	at := slices.IndexFunc(g.servers, func(s sim.ProcessID) bool {
		host, _, err := net.SplitHostPort(address)
		return err == nil && (host == g.addr(s).IP.String() || host == string(s))
	})
	if at < 0 {
		err := &AddressError{Client: g.name, Address: address, Servers: g.Addrs()}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.fail(err)
		return nil, err
	}
	return g.dial(ctx, g.servers[at])
}

func (g *Guest) dial(ctx context.Context, server sim.ProcessID) (net.Conn, error) {
	c := &Conn{guest: g, server: server, wire: g.caller.Wire(server), wake: make(chan struct{}, 1)}
	g.mu.Lock()
	g.proceed()
	if g.over {
		g.mu.Unlock()
		return nil, c.failure("dial", errOver)
	}
	c.blocked = true
	c.deadline, _ = ctx.Deadline()
	g.dials = append(g.dials, c)
	g.dialled++
	g.note()
	g.mu.Unlock()
	select {
	case <-c.wake:
	case <-ctx.Done():
		if ctx.Err() == context.DeadlineExceeded {
			<-c.wake // wait, because after a pause the world decides what the guest sees first
		}
	}
	g.mu.Lock()
	open := c.open
	c.blocked, c.expired, c.deadline = false, false, time.Time{}
	g.mu.Unlock()
	switch {
	case open:
		return c, nil
	case ctx.Err() != nil:
		c.Close()
		return nil, c.failure("dial", ctx.Err())
	}
	return nil, c.failure("dial", c.err)
}

func (c *Conn) failure(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: c.RemoteAddr(), Err: err}
}

func (c *Conn) number() uint64 {
	if c.pipe == nil {
		return 0
	}
	return c.pipe.Number()
}

// list adds the connection to the list of connections that the driver must handle. mu must be held.
func (c *Conn) list() {
	if !c.listed {
		c.listed = true
		c.guest.changed = append(c.guest.changed, c)
	}
	c.guest.note()
}

// collect passes the guest's output to the world. If the guest has closed the connection, collect then closes it in the
// world as well.
func (c *Conn) collect() {
	c.listed = false
	if c.pipe == nil { // the guest gave up before the driver had handled the dial
		return
	}
	if len(c.out) > 0 {
		err := c.send()
		c.out, c.turns = c.out[:0], c.turns[:0]
		var unknown *sim.NotSimulatedError
		switch {
		case errors.As(err, &unknown):
			c.guest.refused = append(c.guest.refused, Refused{c.guest.name, c.server, unknown.Request})
			if !unknown.Answered {
				line{c}.HangUp()
				return
			}
		case err != nil:
			c.guest.fail(fmt.Errorf("%s to %s: %w", c.guest.name, c.server, err))
		}
	}
	if c.closed {
		c.pipe.Close()
		c.guest.forget(c)
		return
	}
	if c.blocked && c.unarmed() {
		c.arm()
	}
}

// send passes the guest's output to the connection's [sim.Wire].
func (c *Conn) send() error {
	begin := 0
	for _, t := range c.turns {
		c.guest.caller.(sim.Tasks).Turn(t.task, t.calling)
		if err := c.wire.Written(line{c}, c.out[begin:t.end]); err != nil {
			return err
		}
		begin = t.end
	}
	if begin == len(c.out) {
		return nil
	}
	return c.wire.Written(line{c}, c.out[begin:])
}

// unarmed reports whether the world must schedule a check of the connection's deadline, because no check is scheduled
// yet, or only one that is too late.
func (c *Conn) unarmed() bool {
	return !c.deadline.IsZero() && (c.armed.IsZero() || c.deadline.Before(c.armed))
}

func (g *Guest) forget(c *Conn) {
	g.conns = slices.DeleteFunc(g.conns, func(o *Conn) bool { return o == c })
}

// arm makes the world check the deadline when it is due. If the guest is paused then, the check waits until the pause
// ends.
func (c *Conn) arm() {
	at, r := c.deadline, c.guest.run
	c.armed = at
	due := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case !c.armed.Equal(at): // another check has replaced this one
			return false
		case !c.blocked || c.deadline.IsZero():
			c.armed = time.Time{}
			return false
		case !c.passed():
			c.arm()
			return false
		}
		return true
	}
	c.pipe.WakeAt(history.Of(at.Sub(r.begin)), due, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		c.armed, c.expired = time.Time{}, true
		c.rouse()
	})
}

// passed reports whether the deadline has passed.
func (c *Conn) passed() bool { return !c.deadline.IsZero() && !time.Now().Before(c.deadline) }

// rouse makes a blocked read or dial recheck the connection's state.
func (c *Conn) rouse() {
	c.guest.touched = true
	c.signal()
}

func (c *Conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// end marks the connection as ended for the guest. mu must be held.
func (c *Conn) end(err error) {
	if c.err == nil {
		c.err = err
	}
	c.rouse()
}

// The methods below implement sim.Endpoint. The driver calls them.

// Opened tells the guest whether its dial succeeded.
func (c *Conn) Opened(s sim.Status) {
	c.guest.mu.Lock()
	defer c.guest.mu.Unlock()
	switch s {
	case sim.Answered:
		c.open = true
	case sim.Refused:
		c.err = syscall.ECONNREFUSED
	default:
		c.err = syscall.ETIMEDOUT
	}
	c.rouse()
}

// Received handles bytes that have arrived.
func (c *Conn) Received(b []byte, to *sim.Incoming) {
	c.guest.mu.Lock()
	defer c.guest.mu.Unlock()
	c.wire.Arrived(line{c}, b, to)
}

// Ended records that the connection has ended.
func (c *Conn) Ended(s sim.Status) {
	c.guest.mu.Lock()
	defer c.guest.mu.Unlock()
	if s == sim.Reset {
		c.end(syscall.ECONNRESET)
		return
	}
	c.end(io.EOF)
}

// line is a connection as its Wire sees it. The run's mu must be held when its methods are called.
type line struct{ *Conn }

func (l line) Now() sim.Time { return l.guest.world.Now() }

func (l line) Ask(args []string, of history.Attempt, phase string) { l.pipe.Ask(args, of, phase) }

func (l line) Deliver(b []byte) {
	l.in = append(l.in, b...)
	if l.blocked {
		l.rouse()
	}
}

func (l line) HangUp() {
	l.pipe.Close()
	l.guest.forget(l.Conn)
	l.end(io.EOF)
}

// The methods below implement net.Conn.

// Read blocks until data has arrived, the connection has ended, or the deadline has passed. After the deadline, it
// returns no more data, just like package net's connections.
func (c *Conn) Read(b []byte) (int, error) {
	c.guest.mu.Lock()
	defer c.guest.mu.Unlock()
	c.guest.proceed()
	c.expired = c.expired || c.passed()
	for {
		switch {
		case c.closed:
			return 0, c.failure("read", net.ErrClosed)
		case len(b) == 0:
			return 0, nil
		case c.guest.over && c.err != nil:
			return 0, c.failure("read", c.err)
		case c.expired:
			return 0, c.failure("read", os.ErrDeadlineExceeded)
		case len(c.in) > 0:
			n := copy(b, c.in)
			if c.in = c.in[n:]; len(c.in) == 0 {
				c.in = nil
			}
			return n, nil
		case errors.Is(c.err, io.EOF):
			return 0, io.EOF
		case c.err != nil:
			return 0, c.failure("read", c.err)
		}
		c.blocked = true
		if c.unarmed() {
			c.list()
		}
		c.guest.mu.Unlock()
		<-c.wake
		c.guest.mu.Lock()
		c.blocked = false
	}
}

// Write stores b until the driver collects it. It blocks only while the guest is paused.
func (c *Conn) Write(b []byte) (int, error) {
	c.guest.mu.Lock()
	defer c.guest.mu.Unlock()
	c.guest.proceed()
	switch {
	case c.closed:
		return 0, c.failure("write", net.ErrClosed)
	case c.guest.over:
		return 0, c.failure("write", errOver)
	case c.err != nil && !errors.Is(c.err, io.EOF):
		return 0, c.failure("write", c.err)
	}
	c.out = append(c.out, b...)
	if c.guest.labels != nil {
		c.turns = append(c.turns, c.guest.writer(len(c.out)))
	}
	c.list()
	return len(b), nil
}

// Close closes the connection. Bytes that have not been sent are dropped.
func (c *Conn) Close() error {
	c.guest.mu.Lock()
	defer c.guest.mu.Unlock()
	c.guest.proceed()
	if c.closed {
		return c.failure("close", net.ErrClosed)
	}
	c.closed = true
	c.signal()
	if !c.guest.over {
		c.list()
	}
	return nil
}

// SetDeadline sets the deadline for reads. Writes do not block, so they do not need one.
func (c *Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline sets the deadline for reads, including a read that is already blocked.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.guest.mu.Lock()
	defer c.guest.mu.Unlock()
	c.guest.proceed()
	c.deadline = t
	c.expired = c.passed()
	if c.blocked {
		c.signal()
	}
	return nil
}

// SetWriteDeadline does nothing, because writes do not block.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr returns the client's address.
func (c *Conn) LocalAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(10, 0, 1, 1).To4(), Port: 40000}
}

// RemoteAddr returns the server's address.
func (c *Conn) RemoteAddr() net.Addr { return c.guest.addr(c.server) }
