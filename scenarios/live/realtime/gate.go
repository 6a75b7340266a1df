package realtime

import (
	"errors"
	"fmt"
	"net"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Gate listens for programs of the host, in any language, that speak the protocol of simulated servers: behind each
// port is a server of the world, as a [sim.Front] shows it. All programs are one client of the world. A Gate asks for
// no password: let it listen where only this host can reach it.
type Gate struct {
	loop      *Loop
	front     sim.Front
	caller    sim.Caller
	client    sim.ProcessID
	listeners []net.Listener
	conns     map[*passer]bool // for the loop
}

// NewGate makes a gate for a client of the world, which listens nowhere yet.
func NewGate(l *Loop, f sim.Front, client sim.ProcessID) *Gate {
	return &Gate{loop: l, front: f, caller: f.Begin(0).Caller(client), client: client, conns: map[*passer]bool{}}
}

// Listen opens a port on a host for connections to a server. It returns its address.
func (g *Gate) Listen(host string, server sim.ProcessID) (*net.TCPAddr, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	g.listeners = append(g.listeners, ln)
	go g.accept(ln, server)
	return ln.Addr().(*net.TCPAddr), nil
}

func (g *Gate) accept(ln net.Listener, server sim.ProcessID) {
	for {
		socket, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			g.loop.Fail(fmt.Errorf("connections to %s: %w", server, err))
			return
		}
		p := &passer{gate: g, wire: g.caller.Wire(server), out: NewOut(socket.(*net.TCPConn))}
		p.in = NewIn(socket.(*net.TCPConn), func() { g.loop.Do(p.collect) })
		g.loop.Do(func() {
			g.conns[p] = true
			p.pipe = g.loop.world.Dial(g.client, server, p)
			p.pipe.Concurrent = !g.front.Serial()
		})
		go p.in.Run()
		go p.out.Run()
	}
}

// Close closes the ports and resets all connections. The loop must have ended.
func (g *Gate) Close() {
	for _, ln := range g.listeners {
		ln.Close()
	}
	for p := range g.conns {
		p.out.Reset()
		p.in.Stop()
	}
}

// passer is a connection of a gate: a socket on one side, a pipe on the other. Its methods are for the loop.
type passer struct {
	gate *Gate
	wire sim.Wire
	pipe *sim.Pipe
	in   *In
	out  *Out
	open bool
	over bool
	rest []byte // read before the pipe was open
	gone bool   // the program sends no more
}

// collect passes what was read to the wire.
func (p *passer) collect() {
	b, ended := p.in.Collected()
	p.gone = p.gone || ended
	p.rest = append(p.rest, b...)
	if p.open {
		p.pass()
	}
}

func (p *passer) pass() {
	b := p.rest
	p.rest = nil
	if len(b) > 0 && !p.over && p.wire.Written(p, b) != nil {
		p.end()
		p.out.Reset()
	}
	if p.gone {
		p.HangUp()
	}
}

// end ends the connection for the world. It reports whether it was one.
func (p *passer) end() bool {
	if p.over {
		return false
	}
	p.over = true
	delete(p.gate.conns, p)
	p.pipe.Close()
	p.in.Stop()
	return true
}

// The methods below are the sim.Line.

// Now is the world's time.
func (p *passer) Now() sim.Time { return p.gate.loop.world.Now() }

// Ask sends a request.
func (p *passer) Ask(args []string, of history.Attempt, phase string) { p.pipe.Ask(args, of, phase) }

// Deliver sends bytes to the program. One that reads nothing loses its connection.
func (p *passer) Deliver(b []byte) {
	if !p.over && !p.out.Add(b) {
		p.Ended(sim.Reset)
	}
}

// HangUp closes the connection, after what was sent.
func (p *passer) HangUp() {
	if p.end() {
		p.out.Finish()
	}
}

// The methods below are the sim.Endpoint.

// Opened lets what was read go, or breaks the connection if nobody listens.
func (p *passer) Opened(s sim.Status) {
	if s != sim.Answered {
		p.Ended(s)
		return
	}
	p.open = true
	p.pass()
}

// Received passes bytes to the wire.
func (p *passer) Received(b []byte, to *sim.Incoming) {
	if !p.over {
		p.wire.Arrived(p, b, to)
	}
}

// Ended breaks or closes the connection.
func (p *passer) Ended(s sim.Status) {
	if s == sim.NoReply {
		p.HangUp()
		return
	}
	if p.end() {
		p.out.Reset()
	}
}

// Canonical is empty: a run in real time has no digest that could be compared.
func (p *passer) Canonical(string) string { return "" }

var _ interface {
	sim.Line
	sim.Endpoint
} = (*passer)(nil)
