//go:build linux

package fleet

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// TestWhoHoldsASocket checks that process.Holds and listens return true only for the process that opened a connection
// or is listening on a port.
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
		{"the connection", process.Holds(os.Getpid(), process.SocketOf(from, to)), true},
		{"it is not the other's", process.Holds(other.Process.Pid, process.SocketOf(from, to)), false},
		{"nor one to another port", process.Holds(os.Getpid(), process.SocketOf(from, elsewhere)), false},
		{"nor of a process that is gone", process.Holds(1<<30, process.SocketOf(from, to)), false},
		{"nor of none", process.Holds(0, process.SocketOf(from, to)), false},
		{"the port", listens(os.Getpid(), to), true},
		{"it is not the other's", listens(other.Process.Pid, to), false},
		{"nor another port", listens(os.Getpid(), elsewhere), false},
	} {
		if test.is != test.want {
			t.Errorf("%s: %t", test.what, test.is)
		}
	}
	conn.Close()
	if process.Holds(os.Getpid(), process.SocketOf(from, to)) {
		t.Error("a connection that was closed is held")
	}
}

// guarded returns a rig that identifies servers by their processes. Until end is called, the test itself counts as the
// process of server a. ports are two servers that a can reach: b, which has a port that others connect to, and a proxy,
// through which a server connects to others.
func guarded(t *testing.T) (r *rig, ports [2]*server, end func()) {
	var ended atomic.Bool
	r = rigOf(t, func(server sim.ProcessID) int {
		if server == "a" && !ended.Load() {
			return os.Getpid()
		}
		return 0
	})
	proxy := r.socks("proxy")
	r.w.AddServer(proxy.name, proxy)
	r.begin()
	return r, [2]*server{r.b, proxy}, func() { ended.Store(true) }
}

// sent returns the number of messages sent on the world's links.
func (r *rig) sent() (n int) {
	r.do(func() {
		for _, from := range r.relay.ports {
			for _, to := range r.relay.ports {
				n += r.w.Sent(from.name, to.name)
			}
		}
	})
	return n
}

// TestServersAreKnownByTheirProcess checks that a server is identified by its process, and not by its address or the
// port that it connects to.
func TestServersAreKnownByTheirProcess(t *testing.T) {
	r, ports, end := guarded(t)
	dial := func(to *server) *side { return r.side(net.Dial("tcp", fmt.Sprint("127.0.0.1:", to.Number()))) }
	a := dial(ports[0])
	a.say("hello")
	r.side(r.b.Accept()).hears("hello")
	r.ask(ports[1], ports[1].at()).granted()
	r.do(func() {
		if r.w.Sent("a", "b") == 0 || r.w.Sent("a", "proxy") == 0 {
			t.Error("it was not a that has called")
		}
	})
	end()
	for _, port := range ports {
		dial(port).ends()
	}
}

// TestNoOtherProcessIsLetIn checks that a port serves only the servers' processes. It refuses connections from any
// other process, no matter which user is running it and how early it sends. None of its bytes are sent over a link.
func TestNoOtherProcessIsLetIn(t *testing.T) {
	testkit.Needs(t, "bash")
	for user, as := range map[string]*syscall.Credential{"this user": nil, "another user": {Uid: 65534, Gid: 65534}} {
		t.Run(user, func(t *testing.T) {
			if as != nil && os.Getuid() != 0 {
				t.Skip("only root can start a process of another user")
			}
			r, ports, _ := guarded(t)
			for _, at := range ports {
				const script = `exec 3<>/dev/tcp/127.0.0.1/%d; printf '\x05\x01\x00' >&3; exec cat <&3`
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				c := exec.CommandContext(ctx, "bash", "-c", fmt.Sprintf(script, at.Number()))
				c.Dir, c.SysProcAttr = "/", &syscall.SysProcAttr{Credential: as}
				if out, err := c.Output(); len(out) > 0 {
					t.Errorf("%s: %q has come: %v", at.name, out, err)
				}
			}
			if n := r.sent(); n > 0 {
				t.Errorf("%d messages have been sent", n)
			}
		})
	}
}
