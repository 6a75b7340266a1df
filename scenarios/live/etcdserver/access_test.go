//go:build linux

package etcdserver

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

// TestStrangersAreNoMembers checks that a member ignores a process without the run's certificate. The process connects
// to the member's port for other members, directly or through the relay.
func TestStrangersAreNoMembers(t *testing.T) {
	r := start(t, 3)
	m := r.cluster.members[0]
	other, err := process.NewIdentity(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{r.cluster.identity.Key: 0o600, r.Keeper.Folder(): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %o", path, info.Mode(), err, want)
		}
	}
	at := m.Daemon.Args[slices.Index(m.Daemon.Args, "--listen-peer-urls")+1]
	// heard reports whether the member processes a raft message. It returns false if the connection fails, or if etcd
	// answers with status 400, as it does if the client does not use TLS.
	heard := func(to string, certificates ...tls.Certificate) bool {
		c := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}}
		answer, err := c.Post(to+"/raft", "application/protobuf", bytes.NewReader([]byte("no message")))
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode != http.StatusBadRequest
	}
	pair := func(id process.Identity) tls.Certificate {
		p, err := tls.LoadX509KeyPair(id.Certificate, id.Key)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if !heard(at, pair(r.cluster.identity)) {
		t.Error("who has the run's certificate is refused")
	}
	tried, let := 0, 0
	for _, to := range []string{at, m.peer()} {
		for who, in := range map[string]bool{
			"who has no certificate":      heard(to),
			"who has another certificate": heard(to, pair(other)),
			"who does not speak TLS":      heard(strings.Replace(to, "https:", "http:", 1)),
		} {
			if tried++; in {
				let++
				t.Errorf("%s is heard at %s", who, to)
			}
		}
	}
	t.Logf("%d connections of a stranger, of which %d were let in", tried, let)
}
