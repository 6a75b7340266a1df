//go:build linux

package fleet

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// socks returns a server whose process connects through a proxy and listens on one of the machine's addresses.
func (r *rig) socks(name sim.ProcessID) *server {
	r.Helper()
	p, err := r.relay.ListenSOCKS(name, func() int { return r.process(name) })
	if err != nil {
		r.Fatal(err)
	}
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { ln.Close() })
	p.Serve(ln.Addr().(*net.TCPAddr).AddrPort())
	s := &server{Port: p, TCPListener: ln, w: r.w, ready: make(chan struct{})}
	close(s.ready)
	return s
}

// ask asks a server's proxy for a connection, as a Java program would. The proxy replies later.
func (r *rig) ask(from *server, to netip.AddrPort) *side {
	r.Helper()
	s := r.call(from, from)
	if _, err := s.Write([]byte{5, 2, 0, 2}); err != nil {
		r.Fatal(err)
	}
	var b [2]byte
	if _, err := io.ReadFull(s.in, b[:]); err != nil || b != [2]byte{5, 0} {
		r.Fatalf("the proxy says %v: %v", b, err)
	}
	ip := to.Addr().As4()
	if _, err := s.Write(binary.BigEndian.AppendUint16(append([]byte{5, 1, 0, 1}, ip[:]...), to.Port())); err != nil {
		r.Fatal(err)
	}
	return s
}

func (s *side) granted() {
	s.t.Helper()
	var b [10]byte
	if _, err := io.ReadFull(s.in, b[:]); err != nil || b[0] != 5 || b[1] != 0 {
		s.t.Fatalf("it is not granted: %v, %v", b, err)
	}
}

func (s *server) at() netip.AddrPort { return s.Addr().(*net.TCPAddr).AddrPort() }

// TestAProxyKnowsWhoCallsWhom checks that the proxy confirms a connection once it has been established, and that the
// connection's bytes travel over the link between the two servers.
func TestAProxyKnowsWhoCallsWhom(t *testing.T) {
	for _, early := range []bool{false, true} {
		r := newRig(t)
		r.a, r.b, r.c = r.socks("d"), r.socks("e"), r.socks("f")
		if !early {
			r.begin()
		}
		a := r.ask(r.a, r.b.at())
		a.granted()
		r.b.SetDeadline(time.Now().Add(patience))
		b := r.side(r.b.Accept())
		a.say("a asks")
		b.hears("a asks")
		b.say("b answers")
		a.hears("b answers")
		if early {
			r.begin()
		}
		r.do(func() {
			r.w.Cut("d", "e")
			r.w.Cut("e", "d")
		})
		waits := r.ask(r.a, r.b.at())
		c := r.ask(r.c, r.b.at())
		c.granted()
		d := r.side(r.b.Accept())
		c.say("c asks")
		d.hears("c asks") // the cut holds back the connection that a has requested
		r.do(func() {
			r.w.Heal("d", "e")
			r.w.Heal("e", "d")
		})
		waits.granted()
		waits.Close()
		r.side(r.b.Accept()).ends()
	}
}

// TestAProxyRefuses checks that a proxy refuses connections to addresses on which no server's process is listening, and
// bytes that are not SOCKS.
func TestAProxyRefuses(t *testing.T) {
	r := newRig(t)
	r.a, r.b = r.socks("d"), r.socks("e")
	r.begin()
	r.ask(r.a, netip.MustParseAddrPort("127.0.0.1:1")).ends()
	at := r.b.at()
	r.b.TCPListener.Close()
	r.ask(r.a, at).ends()
	for _, said := range []string{"\x04\x01\x00\x50", "\x05\x01\x02"} { // SOCKS 4, and SOCKS 5 with a password only
		s := r.call(r.a, r.a)
		if _, err := s.Write([]byte(said)); err != nil {
			t.Fatal(err)
		}
		s.ends()
	}
}
