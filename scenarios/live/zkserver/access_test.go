//go:build linux

package zkserver

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// launched starts an ensemble of n members without a simulated world.
func launched(t *testing.T, n int) *ensemble {
	t.Helper()
	needsZooKeeper(t)
	k := fleettest.Keeper(t)
	f, err := Launch(Config{Keeper: k, Members: fleettest.Names("zookeeper", n),
		Failed: func(err error) { t.Error(err) }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.End)
	return f.Server("zookeeper-1").(*member).ensemble
}

// TestStrangersAreNoMembers checks that a program without the run's certificate can neither vote nor follow. It tries
// to connect to a member directly, at the member's address for other members, and through the member's proxy.
func TestStrangersAreNoMembers(t *testing.T) {
	testkit.FullOnly(t)
	e := launched(t, 3)
	leader := e.members[0]
	other, err := process.NewIdentity(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// enters reports whether a member accepts a TLS connection. The handshake fails if the member rejects the
	// certificate, because members use TLS 1.2, which requests the certificate during the handshake.
	enters := func(conn net.Conn, id *process.Identity) bool {
		t.Helper()
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		config := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}
		if id != nil {
			pair, err := tls.LoadX509KeyPair(id.Certificate, id.Key)
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{pair}
		}
		return tls.Client(conn, config).Handshake() == nil
	}
	speaks := func(conn net.Conn) bool {
		t.Helper()
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = conn.Write(make([]byte, 64))
		_, err := io.Copy(io.Discard, conn)
		return errors.Is(err, os.ErrDeadlineExceeded)
	}
	ways := map[string]func(port int) net.Conn{"directly": func(port int) net.Conn {
		return dial(t, leader.host, port)
	}, "by a proxy": func(port int) net.Conn {
		conn := dial(t, loopback, e.members[1].Port.Number())
		ip := netip.MustParseAddr(leader.host).As4()
		hello := append([]byte{5, 1, 0, 5, 1, 0, 1}, ip[:]...)
		_, _ = conn.Write(binary.BigEndian.AppendUint16(hello, uint16(port)))
		_, _ = io.ReadFull(conn, make([]byte, 12)) // if this fails, the proxy has closed the connection
		return conn
	}}
	tried, let := 0, 0
	for way, call := range ways {
		for _, port := range []int{leader.quorum, leader.election} {
			if way == "directly" && !enters(call(port), &e.identity) {
				t.Errorf("port %d: who has the run's certificate is refused", port)
			}
			for who, in := range map[string]bool{
				"who has no certificate":      enters(call(port), nil),
				"who has another certificate": enters(call(port), &other),
				"who does not speak TLS":      speaks(call(port)),
			} {
				if tried++; in {
					let++
					t.Errorf("%s, port %d: %s is let in", way, port, who)
				}
			}
		}
	}
	t.Logf("%d connections of a stranger, of which %d were let in", tried, let)
}

func dial(t *testing.T, host string, port int) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestStrangersChangeNothing checks that a session without the run's password can neither read nor change a znode, and
// cannot create one at the root or below another znode.
func TestStrangersChangeNothing(t *testing.T) {
	testkit.ThoroughOnly(t)
	e := launched(t, 1)
	enter := func(c *ensemble) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", e.members[0].address())
		if err == nil {
			t.Cleanup(func() { conn.Close() })
			_ = conn.SetDeadline(time.Now().Add(patience))
			_, err = c.enter(conn, 0, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	number := int32(0)
	asks := func(conn net.Conn, op jute.Op, fields jute.Record) (code int32) {
		t.Helper()
		number++
		if _, err := conn.Write(append(jute.Head(number, op), fields...).Framed()); err != nil {
			t.Fatal(err)
		}
		f, err := jute.ReadFrame(conn)
		if err != nil {
			t.Fatal(err)
		}
		f.Int()
		f.Long()
		return f.Int()
	}
	own, stranger := enter(e), enter(&ensemble{secret: "guess"})
	if code := asks(own, jute.Create2, create("/lock", "x", jute.Persistent)); code != 0 {
		t.Errorf("the run's own are refused: %d", code)
	}
	of := func(path string) jute.Record { return jute.Record(nil).Text(path) }
	refused := []struct {
		op     jute.Op
		fields jute.Record
	}{
		{jute.Create2, create("/another", "x", jute.Persistent)},
		{jute.Create2, create("/lock/another", "x", jute.Persistent)},
		{jute.GetData, of("/lock").Flag(false)}, {jute.GetChildren2, of("/").Flag(false)},
		{jute.GetChildren2, of("/lock").Flag(false)}, {jute.SetData, of("/lock").Text("y").Int(-1)},
		{jute.Delete, of("/lock").Int(-1)},
	}
	let := 0
	for _, r := range refused {
		if code := asks(stranger, r.op, r.fields); code != jute.NoAuth {
			let++
			t.Errorf("%s %q is answered %d", r.op, r.fields, code)
		}
	}
	t.Logf("%d requests of a stranger, of which %d were let in", len(refused), let)
	if code := asks(own, jute.Delete, of("/lock").Int(-1)); code != 0 {
		t.Errorf("the run's own are refused: %d", code)
	}
}
