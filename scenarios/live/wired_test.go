//go:build linux

package live

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// session is a ZooKeeper session over ZooKeeper's own protocol.
type session struct {
	net.Conn
	xid int32
}

// joins opens a session on the first member.
func joins(timeout int32) *session {
	address, _, _ := strings.Cut(os.Getenv("FENCEPOST_ZOOKEEPER"), ",")
	conn, err := net.Dial("tcp", address)
	if err == nil {
		first := jute.ConnectRequest{Timeout: timeout, Password: strings.Repeat("\x00", jute.PasswordLength)}
		_, err = conn.Write(first.Record().Framed())
	}
	if err == nil {
		_, err = jute.ReadFrame(conn)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return &session{Conn: conn}
}

// ask sends a request and returns the answer.
func (s *session) ask(op jute.Op, rest func(jute.Record) jute.Record) (f jute.Fields, code int32) {
	s.xid++
	s.Write(rest(jute.Head(s.xid, op)).Framed())
	f, err := jute.ReadFrame(s)
	if err != nil {
		return f, jute.SessionExpired
	}
	f.Int()
	f.Long()
	return f, f.Int()
}

func (s *session) create(path string, flags int32) string {
	f, _ := s.ask(jute.Create, func(r jute.Record) jute.Record {
		return r.Text(path).Text("").Int(1).Int(jute.All).Text("world").Text("anyone").Int(flags)
	})
	return f.Text()
}

// queues is a client that uses ZooKeeper's oldest lock recipe: it polls until it is first in the queue.
func queues(resource *wire) {
	lock := os.Getenv("FENCEPOST_LOCK")
	timeout, _ := strconv.Atoi(os.Getenv("FENCEPOST_TTL_MS"))
	joins(int32(timeout)).ask(jute.WhoAmI, func(r jute.Record) jute.Record { return r })
	s := joins(int32(timeout))
	folder := "/locks/" + lock
	s.create("/locks", jute.Persistent)
	s.create(folder, jute.Persistent)
	resource.ask("FENCEPOST", "ACQUIRING", lock)
	path := s.create(folder+"/n-", jute.EphemeralSequential)
	for {
		f, _ := s.ask(jute.GetChildren, func(r jute.Record) jute.Record { return r.Text(folder).Flag(false) })
		if slices.Min(f.Texts()) == strings.TrimPrefix(path, folder+"/") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	resource.ask("FENCEPOST", "ACQUIRED", lock, path)
	resource.ask("READ", lock)
	resource.ask("WRITE", lock, os.Getenv("FENCEPOST_CLIENT"))
	resource.ask("FENCEPOST", "RELEASING", lock, path)
	report := []string{"FENCEPOST", "RELEASED", lock, path}
	if _, code := s.ask(jute.Delete, func(r jute.Record) jute.Record { return r.Text(path).Int(-1) }); code != 0 {
		report = append(report, "REFUSED")
	}
	resource.ask(report...)
}

// TestAUsersClientOfZooKeeper checks runs with a client that uses ZooKeeper's own protocol. The client's session must
// count as its lease, and its requests must extend the session. The record of its znode must name the client.
// Unsupported requests must be reported.
func TestAUsersClientOfZooKeeper(t *testing.T) {
	t.Parallel()
	for pause, want := range map[string]string{
		"100ms": "holds; holds; holds; holds; holds",
		"9s": "holds; violated by holder outlived its lease (pause); violated by superseded holder took effect; " +
			"holds; holds",
	} {
		t.Run(pause, func(t *testing.T) {
			if testing.Short() && pause != "100ms" {
				t.Skip("it takes ten seconds")
			}
			t.Parallel()
			s := scenario(t, "zookeeper", "servers: {zookeeper: 3}", "lock: {protocol: zookeeper, ttl: 4s}",
				"work: {writes: 1}", "resource: {fencing: off}",
				"faults: [pause client-1 for "+pause+" after before-write]")
			testkit.Undisturbed(t, func(t testing.TB) {
				r, err := run(t, s, "queues")
				if err != nil {
					t.Fatal(err)
				}
				if got := outcomes(r, excluding...); got != want {
					t.Errorf("%s, want %s\n%q", got, want, r.Notes)
				}
				const named = "a request from client-1 to zookeeper-1 was refused: fencepost: whoAmI is not simulated"
				if !strings.Contains(strings.Join(r.Notes, "\n"), named) {
					t.Errorf("%q", r.Notes)
				}
				for _, e := range r.History.Events {
					if e.F == history.KeySet && (e.Lock != s.Locks()[0] || e.Of == "" || e.By != e.Of) {
						t.Errorf("the znode is nobody's: %+v", e)
					}
				}
			})
		})
	}
}
