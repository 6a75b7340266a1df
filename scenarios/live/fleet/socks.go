package fleet

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// ListenSOCKS is an [Opener] for a server whose process can connect to other servers through a SOCKS proxy (RFC 1928),
// as Java programs can. The returned port is that proxy. The process tells the proxy which address to connect to.
func (r *Relay) ListenSOCKS(server sim.ProcessID, process func() int) (*Port, error) {
	p, err := r.Listen(server, process)
	if err == nil {
		p.accept(r.serveSOCKS)
	}
	return p, err
}

// Serve sets the addresses on which the server's process is listening. Other servers use the same addresses, but reach
// them through their proxies.
func (p *Port) Serve(addresses ...netip.AddrPort) {
	p.relay.mu.Lock()
	defer p.relay.mu.Unlock()
	p.places = addresses
}

// portAt returns the port of the server whose process is listening on an address, or nil if there is none.
func (r *Relay) portAt(a netip.AddrPort) *Port {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.ports {
		if slices.Contains(p.places, a) {
			return p
		}
	}
	return nil
}

// serveSOCKS connects a process to the server whose address it asks for.
func (r *Relay) serveSOCKS(caller *Port, tcp *net.TCPConn) {
	r.running.Go(func() {
		to, err := asked(tcp)
		called := r.portAt(to)
		if err != nil || called == nil {
			tcp.Close()
			return
		}
		c := newConnection(caller, called, to.String())
		c.ends[0].greeting = granted
		r.plug(c.ends[0], tcp, func(g *plug) { c.begin(g) })
	})
}

// Constants of the SOCKS protocol.
const (
	socks       = 5 // version of the protocol
	noPassword  = 0
	connectTo   = 1
	addressIPv4 = 1
)

// granted is the reply with which the proxy says that the connection has been established.
var granted = []byte{socks, 0, 0, addressIPv4, 0, 0, 0, 0, 0, 0}

// handshake is how long a process may take to say which address it wants to connect to.
const handshake = 10 * time.Second

// asked reads the address that a process wants to connect to. It does not reply: the reply is sent later, once the
// connection has been established.
func asked(tcp net.Conn) (to netip.AddrPort, err error) {
	if err := tcp.SetReadDeadline(time.Now().Add(handshake)); err != nil {
		return to, err
	}
	var b [256]byte
	if _, err := io.ReadFull(tcp, b[:2]); err != nil {
		return to, err
	}
	if _, err := io.ReadFull(tcp, b[2:2+b[1]]); err != nil {
		return to, err
	}
	if b[0] != socks || !slices.Contains(b[2:2+b[1]], noPassword) {
		return to, fmt.Errorf("the client uses SOCKS %d, or a method with a password", b[0])
	}
	if _, err := tcp.Write([]byte{socks, noPassword}); err != nil {
		return to, err
	}
	if _, err := io.ReadFull(tcp, b[:10]); err != nil {
		return to, err
	}
	if b[1] != connectTo || b[3] != addressIPv4 {
		return to, fmt.Errorf("the client sent a SOCKS request that is not supported: %v", b[:4])
	}
	to = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[8:10]))
	return to, tcp.SetReadDeadline(time.Time{})
}
