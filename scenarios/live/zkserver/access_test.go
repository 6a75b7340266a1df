//go:build linux

package zkserver

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// TestStrangersChangeNothing: a session of whoever has not the run's password neither reads nor changes a znode, its
// own below the root included.
func TestStrangersChangeNothing(t *testing.T) {
	needs(t)
	k, err := process.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	e, err := Launch(Config{Keeper: k, Members: names(1), Failed: func(err error) { t.Error(err) }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.End()
	enter := func(c *settings) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", e.order[0].address())
		if err == nil {
			t.Cleanup(func() { conn.Close() })
			_ = conn.SetDeadline(time.Now().Add(patience))
			_, err = c.enter(conn, 0, maxTimeout, 0, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	const noAuth = int32(-102)
	number := int32(0)
	asks := func(conn net.Conn, args ...string) (code int32) {
		t.Helper()
		number++
		if _, err := conn.Write(request(number, args)); err != nil {
			t.Fatal(err)
		}
		f, err := readFrame(conn)
		if err != nil {
			t.Fatal(err)
		}
		f.int()
		f.long()
		return f.int()
	}
	own, stranger := enter(e.cfg), enter(&settings{secret: "guess"})
	create := func(path string) []string {
		return []string{zookeeper.ReqCreate, path, "x", strconv.Itoa(int(zookeeper.Persistent))}
	}
	if code := asks(own, create("/lock")...); code != 0 {
		t.Errorf("the run's own are refused: %d", code)
	}
	refused := [][]string{create("/another"), create("/lock/another"), {zookeeper.ReqGetData, "/lock", "0"},
		{zookeeper.ReqChildren, "/", "0"}, {zookeeper.ReqChildren, "/lock", "0"},
		{zookeeper.ReqSetData, "/lock", "y", "-1"}, {zookeeper.ReqDelete, "/lock", "-1"}}
	let := 0
	for _, args := range refused {
		if code := asks(stranger, args...); code != noAuth {
			let++
			t.Errorf("%q is answered %d", args, code)
		}
	}
	t.Logf("%d requests of a stranger, of which %d were let in", len(refused), let)
	if code := asks(own, zookeeper.ReqDelete, "/lock", "-1"); code != 0 {
		t.Errorf("the run's own are refused: %d", code)
	}
}
