package fleet

import (
	"fmt"
	"net"
	"slices"

	"github.com/fencepost-sim/fencepost/sim"
)

// connection is a connection between two server processes. It must be used only on the loop's goroutine (see Relay.do).
type connection struct {
	ends [2]*end // the caller's end and the called server's end
}

// end is one end of a connection, and the process at that end.
type end struct {
	c     *connection
	port  *Port
	plug  *plug    // nil until the process is connected
	asked bool     // for the called server: whether the request to open the connection has arrived
	early [][]byte // bytes that arrived before the process was connected
	gone  bool     // whether no more bytes are exchanged with the process
	at    string   // for the called server: the address at which its process listens
	// greeting is what the caller receives once the connection is established. If it is nil, the caller receives
	// nothing.
	greeting []byte
}

func newConnection(caller, called *Port, at string) *connection {
	c := &connection{}
	c.ends = [2]*end{{c: c, port: caller}, {c: c, port: called, at: at}}
	return c
}

func (e *end) other() *end {
	if e.c.ends[0] == e {
		return e.c.ends[1]
	}
	return e.c.ends[0]
}

// chunk is a message exchanged between servers in the world.
type chunk struct {
	to   *end
	kind kind
	b    []byte
}

type kind uint8

const (
	beginning kind = iota // opens a connection
	connected             // tells the caller that the connection is established, if it waits for that
	stream
	ending
	// retry is a TCP retransmission to a machine that has not acknowledged the data
	retry
)

// send sends a chunk to the other end.
func (e *end) send(k kind, b []byte) {
	c := &chunk{e.other(), k, b}
	if p := e.port; p.relay.loop != nil {
		p.sent++
		p.host.Send(c.to.port.name, "bytes", sim.Key(p.sent), c)
		return
	}
	c.arrive()
}

func (c *chunk) arrive() {
	e := c.to
	if e.gone {
		if c.kind != ending {
			e.send(ending, nil)
		}
		return
	}
	switch c.kind {
	case beginning:
		e.asked = true
		e.connect()
	case connected:
		e.write(e.greeting)
	case stream:
		e.write(c.b)
	case ending:
		e.close()
	}
}

// begin opens a connection on behalf of the calling process.
func (c *connection) begin(g *plug) {
	caller := c.ends[0]
	caller.plug = g
	for _, e := range c.ends {
		e.port.ends = append(e.port.ends, e)
	}
	caller.send(beginning, nil)
}

// connect connects to the called server's process once it is accepting connections.
func (e *end) connect() {
	p := e.port
	r := p.relay
	var ready <-chan struct{}
	if r.loop != nil {
		ready = p.ready
	}
	r.running.Add(1)
	go func() {
		defer r.running.Done()
		if ready != nil {
			select {
			case <-ready:
			case <-r.closed:
				return
			}
		}
		conn, err := net.Dial("tcp", e.at)
		if err != nil {
			r.do(e.hangUp)
			return
		}
		r.plug(e, conn.(*net.TCPConn), e.connected)
	}()
}

// connected starts using the connection to the called server's process.
func (e *end) connected(g *plug) {
	e.plug = g
	if e.gone {
		g.finish()
		return
	}
	if e.other().greeting != nil {
		e.send(connected, nil)
	}
	for _, b := range e.early {
		e.write(b)
	}
	e.early = nil
}

// write passes bytes to the process.
func (e *end) write(b []byte) {
	switch {
	case e.plug == nil:
		e.early = append(e.early, b)
	case !e.plug.out.Add(b):
		e.port.relay.failed(fmt.Errorf("%s does not read what %s sends to it", e.port.name, e.other().port.name))
	}
}

// collect takes the bytes that have been read from the process, and sends them to the other end. If the process has
// ended its stream, collect hangs up.
func (e *end) collect() {
	b, ended := e.plug.in.Collected()
	if e.gone {
		return
	}
	if len(b) > 0 {
		e.send(stream, b)
	}
	if ended {
		e.hangUp()
	}
}

// hangUp ends the connection on this side and notifies the other end.
func (e *end) hangUp() {
	if !e.gone {
		e.send(ending, nil)
		e.close()
	}
}

// close ends the connection on this side.
func (e *end) close() {
	e.gone = true
	if e.plug != nil {
		e.plug.finish()
	}
	if o := e.other(); o.gone {
		e.port.forget(e)
		o.port.forget(o)
	}
}

func (p *Port) forget(e *end) {
	p.ends = slices.DeleteFunc(p.ends, func(o *end) bool { return o == e })
}

// started is called when the server starts. ready is closed once the new process is accepting connections. The new
// process does not know about the previous process's connections.
func (p *Port) started(h sim.Host, ready <-chan struct{}) {
	if p == nil {
		return
	}
	p.host, p.ready = h, ready
	if p.relay.loop == nil {
		return
	}
	for _, e := range slices.Clone(p.ends) {
		if e.plug == nil && !e.asked { // the request to open it was lost
			e.close()
		}
		if o := e.other(); e.gone && !o.gone {
			o.send(retry, nil)
		}
	}
}

// powerOff handles a power failure of the server's machine. Everything that the process has already sent is still
// delivered, but its connections vanish without notice.
func (p *Port) powerOff() {
	if p == nil {
		return
	}
	p.drain()
	for _, e := range slices.Clone(p.ends) {
		if o := e.other(); o.plug == nil && !o.asked {
			o.close()
		}
		e.close()
	}
}

// drain sends the other servers everything that the process has written so far.
func (p *Port) drain() {
	if p == nil {
		return
	}
	for _, e := range slices.Clone(p.ends) {
		if e.plug != nil && e.plug.in.Take() {
			e.collect()
		}
	}
}
