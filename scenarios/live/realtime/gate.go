package realtime

import (
	"net"
	"net/netip"

	"github.com/fencepost-sim/fencepost/sim"
)

// Gate is a [Front] for programs of the host, in any language, that are all one client of the world. It asks for no
// password, and admits whoever comes: let it listen where only this host can reach it.
type Gate struct {
	front  *Front
	client sim.ProcessID
	wiring *Wiring
}

// NewGate makes a gate for a client of the world, which listens nowhere yet.
func NewGate(l *Loop, f sim.Front, client sim.ProcessID) *Gate {
	return &Gate{NewFront(l, straight{}), client, &Wiring{Caller: f.Begin(0).Caller(client), Serial: f.Serial(),
		Admits: func(_, _ netip.AddrPort) bool { return true }}}
}

// Listen opens a port on a host for connections to a server. It returns its address.
func (g *Gate) Listen(host string, server sim.ProcessID) (*net.TCPAddr, error) {
	return g.front.Listen(host, g.client, server, g.wiring)
}

// Close closes the ports and resets all connections. The loop must have ended.
func (g *Gate) Close() { g.front.Close() }

// straight is the handler of ports that have a wiring.
type straight struct{}

func (straight) Asked(*Conn, []string)                 {}
func (straight) Forwarded(*Conn, []string)             {}
func (straight) Declined(*Conn, error)                 {}
func (straight) Malformed(*Conn, []byte)               {}
func (straight) Received(*Conn, []byte, *sim.Incoming) {}

// Ended ends the connection as it has ended in the world.
func (straight) Ended(c *Conn, s sim.Status) {
	if s == sim.NoReply {
		c.Close()
		return
	}
	c.Reset()
}
