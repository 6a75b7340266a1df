//go:build linux

package realtime

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/front"
)

// wired opens a port on the rig. The port has a Wiring and uses Redis's protocol. It admits connections if admits is
// true.
func (r *rig) wired(admits bool) *rig {
	caller := front.Redis{}.Begin().Caller("client-1")
	at, err := r.front.Listen("127.0.0.1", "client-1", "redis-1", &Wiring{Caller: caller, Serial: true,
		Admits: func(from, to netip.AddrPort) bool { return admits && from != to }})
	if err != nil {
		r.Fatal(err)
	}
	r.addr = at.String()
	return r
}

// TestAWireNeedsNoPassword checks that bytes from the client are accepted without a password. A request that arrives in
// pieces must be forwarded once it is complete, and the server must be told when the connection ends.
func TestAWireNeedsNoPassword(t *testing.T) {
	r := newRig(t, plain{}, 20*time.Millisecond).wired(true)
	p := r.call()
	if _, err := p.Write([]byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\n")); err != nil {
		t.Fatal(err)
	}
	p.Write([]byte("v\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"))
	for _, want := range []string{"+OK", "$1", "v"} {
		if got := p.line(t); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	p.Close()
	r.until("the connection is over", func() bool { return len(r.front.conns["client-1"]) == 0 })
}

// TestAWireIsForItsClientAlone checks that a connection from another process is counted and then closed before anything
// is read from it.
func TestAWireIsForItsClientAlone(t *testing.T) {
	r := newRig(t, plain{}, 0).wired(false)
	p, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.SetReadDeadline(time.Now().Add(stepLimit))
	if n, err := p.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes", n)
	}
	r.until("it is counted", func() bool { return r.front.Refused("client-1") == 1 })
	r.do(func() {
		if len(r.front.conns) != 0 || r.world.Err() != nil {
			t.Errorf("%v, %v", r.front.conns, r.world.Err())
		}
	})
}

// TestAWireThatMakesNoSense checks that malformed bytes end the connection, but not the run.
func TestAWireThatMakesNoSense(t *testing.T) {
	r := newRig(t, plain{}, 0).wired(true)
	p := r.call()
	p.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	p.SetReadDeadline(time.Now().Add(stepLimit))
	if n, err := p.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes", n)
	}
	if r.do(func() {}); r.loop.Err() != nil {
		t.Error(r.loop.Err())
	}
}

var _ sim.Line = line{}
