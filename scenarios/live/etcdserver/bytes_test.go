//go:build linux

package etcdserver

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// ends is a handler that resets a client's connection when the connection ends in the world.
type ends struct{}

func (ends) Asked(*realtime.Conn, []string)                 {}
func (ends) Forwarded(*realtime.Conn, []string)             {}
func (ends) Declined(*realtime.Conn, error)                 {}
func (ends) Malformed(*realtime.Conn, []byte)               {}
func (ends) Received(*realtime.Conn, []byte, *sim.Incoming) {}
func (ends) Ended(c *realtime.Conn, _ sim.Status)           { c.Reset() }

// TestWhoPutsAKeyIsFoundInBytes checks that a key's owner is the attempt that sent the request, no matter how the bytes
// are split into pieces. If two attempts sent it, the key has no owner.
func TestWhoPutsAKeyIsFoundInBytes(t *testing.T) {
	const lease = 0x1234567890
	put := "\x0a\x06orders\x12\x01v\x18\x90\xf1\xd9\xa2\xa3\x02"
	r := newRecords()
	pass := func(conn uint64, of history.Attempt, text string) {
		r.pass(sim.NewIncoming("", conn, of, []string{bytesPassed, text}, nil))
	}
	who := func(key, value string, lease int64) history.Attempt {
		return r.putter(&change{WatchEvent: etcd.WatchEvent{KeyValue: etcd.KeyValue{Key: key, Value: value,
			Lease: lease}}})
	}
	pass(1, "A", "before"+put[:7])
	pass(2, "B", "\x0a\x05other\x12\x01v\x18\x90\xf1\xd9\xa2\xa3\x02 and \x0a\x04bare")
	pass(1, "A", put[7:]+"after")
	pass(1, "C", "the next attempt on the same connection")
	for _, c := range []struct {
		key, value string
		lease      int64
		want       history.Attempt
	}{
		{"orders", "v", lease, "A"}, {"other", "v", lease, "B"}, {"bare", "", 0, "B"},
		{"orders", "v", lease + 1, ""}, {"orders", "w", lease, ""}, {"order", "v", lease, ""},
	} {
		if got := who(c.key, c.value, c.lease); got != c.want {
			t.Errorf("%v is %s's", c, got)
		}
	}
	if pass(3, "D", put); who("orders", "v", lease) != "" {
		t.Error("two have sent it")
	}
}

// admitted admits every connection between two hosts or ports.
func admitted(from, to netip.AddrPort) bool { return from != to }

// opens lets a client connect to etcd-1. It returns the address, and a function that ends the listening.
func (r *rig) opens(client sim.ProcessID) (at string, _ func()) {
	r.T.Helper()
	r.World.AddClient(client, 0, func(env sim.Env) { env.Sleep(sim.Forever) })
	front := realtime.NewFront(r.Loop, ends{})
	address, err := front.Listen("127.0.0.1", client, "etcd-1",
		&realtime.Wiring{Caller: Bytes{}.Begin().Caller(client), Admits: admitted})
	if err != nil {
		r.T.Fatal(err)
	}
	return "http://" + address.String(), front.Close
}

// TestBytesAreThoseOfTheMember checks that a client exchanges bytes with the member as if they were connected directly,
// even if messages are large. The client's keys must be recorded before the client learns about them. A restart must
// end the connection, and the next connection must work.
func TestBytesAreThoseOfTheMember(t *testing.T) {
	r := start(t, 1)
	at, closes := r.opens("client-1")
	defer closes()
	large := strings.Repeat("0123456789abcdef", 16<<10)
	over, recorded := false, 0
	go func() {
		defer r.Loop.Do(func() { over = true })
		g := services{at, overHTTP2(new(net.Dialer).DialContext)}
		ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience)
		defer cancel()
		const key = "locks/order"
		if _, err := g.read(ctx, put(key, large, 0)); err != nil {
			t.Error(err)
			return
		}
		done := make(chan struct{})
		r.Loop.Do(func() {
			recorded = len(r.cluster.records.owners)
			close(done)
		})
		<-done
		found, err := g.read(ctx, get(key))
		if err != nil || recorded != 1 || len(found.Keys) != 1 || found.Keys[0].Value != large {
			t.Errorf("%d keys, %v; %d were recorded when the put was answered", len(found.Keys), err, recorded)
		}
		r.Loop.Do(func() {
			r.World.Stop("etcd-1", sim.PowerLoss)
			r.World.Restart("etcd-1")
		})
		lost := 0
		for found.Keys = nil; len(found.Keys) == 0 && ctx.Err() == nil; {
			if found, err = g.read(ctx, get(key)); err != nil {
				lost++
			}
		}
		if err != nil || lost == 0 {
			t.Errorf("after a restart: %v, having lost %d requests", err, lost)
		}
	}()
	r.Fleet.Begin(r.Loop)
	if r.Loop.Run(history.Of(2*time.Minute), func() bool { return over || r.Err() != nil }) {
		t.Error("the run is not over after two minutes")
	}
}
