package zkserver

import (
	"bytes"
	"testing"

	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// TestNewZnodesBelongToNobodyElse checks that a new znode gets the superuser's access list, no matter which list and
// which kind of create the client uses. Everything else in the client's frames must be passed on unchanged.
func TestNewZnodesBelongToNobodyElse(t *testing.T) {
	world := func(r jute.Record) jute.Record { return r.Int(1).Int(jute.All).Text("world").Text("anyone") }
	two := func(r jute.Record) jute.Record {
		return r.Int(2).Int(jute.Read).Text("world").Text("anyone").Int(jute.All).Text("auth").Text("")
	}
	const ttl = 5000
	made := func(list func(jute.Record) jute.Record) []jute.Record {
		return []jute.Record{
			list(jute.Head(7, jute.Create).Text("/a").Text("data")).Int(jute.EphemeralSequential),
			list(jute.Head(8, jute.Create2).Text("/a/b").Null()).Int(jute.Persistent),
			list(jute.Head(9, jute.CreateContainer).Text("/a/c").Text("")).Int(jute.Container),
			list(jute.Head(10, jute.CreateTTL).Text("/a/d").Text("x")).Int(jute.PersistentTTL).Long(ttl),
		}
	}
	pass := func(r jute.Record) (*call, []byte, string) {
		c := &call{args: []string{"create", string(r)}}
		b, path := c.passed()
		return c, b, path
	}
	want := made(denyAll)
	for _, list := range []func(jute.Record) jute.Record{world, two} {
		for i, r := range made(list) {
			c, b, path := pass(r)
			if !bytes.Equal(b, want[i].Framed()) || c.xid != int32(7+i) || path == "" {
				t.Errorf("%q became %q of %q, number %d", r, b, path, c.xid)
			}
		}
	}
	for _, r := range []jute.Record{
		jute.Head(1, jute.Delete).Text("/a").Int(-1),
		jute.Head(2, jute.Create).Text("/a").Text("x").Int(1).Int(jute.All), // the record ends too early
		jute.Head(jute.XidPing, jute.Ping),
	} {
		if _, b, path := pass(r); !bytes.Equal(b, r.Framed()) || path != "" {
			t.Errorf("%q became %q, path %q", r, b, path)
		}
	}
	if enters([]string{zookeeper.ReqEnter}) || !enters([]string{zookeeper.ReqEnter, "x"}) {
		t.Error("a session is asked for by a frame")
	}
}
