//go:build linux

package consulserver

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

// TestStrangersAreNoMembers checks that a server ignores a process without the run's certificate. The process connects
// to the server's port for other servers, directly or through the relay.
func TestStrangersAreNoMembers(t *testing.T) {
	testkit.ThoroughOnly(t)
	r, c := start(t, 3)
	m := c.members[0]
	for path, want := range map[string]os.FileMode{c.identity.Key: 0o600, m.file(): 0o600, r.Keeper.Folder(): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %o", path, info.Mode(), err, want)
		}
	}
	pair := func(id process.Identity) tls.Certificate {
		p, err := tls.LoadX509KeyPair(id.Certificate, id.Key)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	other, err := process.NewIdentity(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	direct, relay := m.rpc().String(), fmt.Sprintf("%s:%d", loopback, m.Port.Number())
	if err := standAt(direct, pair(c.identity)); err != nil {
		t.Errorf("who has the run's certificate is refused: %v", err)
	}
	for _, at := range []string{direct, relay} {
		for who, err := range map[string]error{
			"who has no certificate":      standAt(at),
			"who has another certificate": standAt(at, pair(other)),
			"who does not speak TLS":      standInTheOpen(at),
		} {
			if err == nil {
				t.Errorf("%s is heard at %s", who, at)
			}
		}
	}
}

// standInTheOpen is standAt without TLS.
func standInTheOpen(address string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, connectRaft+timeoutNow); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}
