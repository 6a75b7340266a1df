//go:build linux

package ensembles

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/bubble"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/front"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// TestZKCost sets and gets a znode before three simulated members, and before a connection that answers each request at
// once, and logs the processor time of a request in both: what the simulation adds to the client's own.
func TestZKCost(t *testing.T) {
	const requests = 2000
	work := func(dial zk.Dialer, addresses []string) time.Duration {
		c, _, err := zk.Connect(addresses, ttl, zk.WithDialer(dial), zk.WithLogger(silent{}))
		if err != nil {
			t.Error(err)
			return 0
		}
		defer c.Close()
		if _, err := c.Create("/a", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Error(err)
		}
		begin := cpu()
		for i := range requests {
			if i%2 == 0 {
				_, err = c.Set("/a", []byte("b"), -1)
			} else {
				_, _, err = c.Get("/a")
			}
			if err != nil {
				t.Error(err)
			}
		}
		return (cpu() - begin) / requests
	}
	var simulated, echoed time.Duration
	synctest.Test(t, func(t *testing.T) {
		d, stacks := bubble.NewDriver(), new(sim.Stacks)
		names := []sim.ProcessID{"zookeeper-1", "zookeeper-2", "zookeeper-3"}
		w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: 500 * time.Microsecond, Hi: 2 * time.Millisecond},
			Stacks: stacks, Wall: d.Wall()})
		zookeeper.NewEnsemble(zookeeper.Config{}, names).AddTo(w.AddServer)
		d.Begin(w, names, front.ZooKeeper{})
		g := d.Guest("client-1")
		w.AddClient("client-1", 0, func(env sim.Env) {
			g.Call(env, "work", func(ctx context.Context) {
				simulated = work(func(network, address string, _ time.Duration) (net.Conn, error) {
					return g.DialContext(ctx, network, address)
				}, d.Addrs())
			})
		})
		if limited := d.Run(sim.Time(time.Hour), func() bool { return !w.Busy() }); limited || w.Err() != nil {
			t.Error(limited, w.Err())
		}
		if err := d.End(); err != nil {
			t.Error(err)
		}
		w.Finish()
		stacks.Close()
		d.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		echoed = work(func(string, string, time.Duration) (net.Conn, error) {
			client, server := net.Pipe()
			go answerAtOnce(server)
			return client, nil
		}, []string{"127.0.0.1:1"})
	})
	t.Logf("a request takes %v before simulated members, %v before an echo: %.1f times", simulated, echoed,
		float64(simulated)/float64(echoed))
}

// answerAtOnce answers each request at once.
func answerAtOnce(c net.Conn) {
	defer c.Close()
	stat := make([]byte, 68)
	if _, err := jute.ReadFrame(c); err != nil {
		return
	}
	c.Write(jute.ConnectReply(1, int32(ttl.Milliseconds()), string(make([]byte, jute.PasswordLength)), true).Framed())
	for {
		f, err := jute.ReadFrame(c)
		if err != nil {
			return
		}
		xid, op := f.Int(), jute.Op(f.Int())
		r := jute.Record(nil).Int(xid).Long(1).Int(0)
		switch op {
		case jute.Create:
			r = r.Text("/a")
		case jute.GetData:
			r = append(r.Text("b"), stat...)
		case jute.SetData:
			r = append(r, stat...)
		}
		if _, err := io.WriteString(c, string(r.Framed())); err != nil || op == jute.CloseSession {
			return
		}
	}
}
