//go:build linux

package relay

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
)

func addressOf(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }

// TestWhoHoldsASocket: a connection is held by who has called, from its own side, and by nobody else; a port is
// listened on by who does.
func TestWhoHoldsASocket(t *testing.T) {
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		other.Process.Kill()
		other.Wait()
	}()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	from, to := addressOf(conn.LocalAddr()), addressOf(conn.RemoteAddr())
	elsewhere := netip.AddrPortFrom(to.Addr(), to.Port()^1)
	for _, test := range []struct {
		what string
		is   bool
		want bool
	}{
		{"the connection", holds(os.Getpid(), from, to), true},
		{"it is not the other's", holds(other.Process.Pid, from, to), false},
		{"nor one to another port", holds(os.Getpid(), from, elsewhere), false},
		{"nor of a process that is gone", holds(1<<30, from, to), false},
		{"the port", Listens(os.Getpid(), to), true},
		{"it is not the other's", Listens(other.Process.Pid, to), false},
		{"nor another port", Listens(os.Getpid(), elsewhere), false},
	} {
		if test.is != test.want {
			t.Errorf("%s: %t", test.what, test.is)
		}
	}
	conn.Close()
	if holds(os.Getpid(), from, to) {
		t.Error("a connection that was closed is held")
	}
}

// TestCallersAreKnownByTheirProcess, from wherever they call; a stranger's call is none.
func TestCallersAreKnownByTheirProcess(t *testing.T) {
	r := newRig(t)
	for own, want := range map[int]*server{os.Getpid(): r.b, 1 << 30: nil} {
		r.b.CalledBy(func() int { return own })
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		got := r.relay.owner(addressOf(conn.LocalAddr()), addressOf(conn.RemoteAddr()))
		if want == nil && got != nil || want != nil && got != want.Port {
			t.Errorf("process %d: %v called", own, got)
		}
		conn.Close()
		l.Close()
	}
}
