//go:build linux

package ensembles

import (
	"context"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/bubble"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/etcd/front"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	zkfront "github.com/fencepost-sim/fencepost/sim/zookeeper/front"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// cpu is the processor time of this process.
func cpu() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// TestCost puts and gets keys before three simulated members, and before a connection that answers each call at once,
// and logs the processor time of a call in both: what the simulation adds to the client's own and that of HTTP/2.
func TestCost(t *testing.T) {
	const calls = 1000
	work := func(dial dialer, addresses []string) time.Duration {
		c, err := clientv3.New(clientv3.Config{Endpoints: addresses, Logger: zap.NewNop(),
			DialOptions: []grpc.DialOption{grpc.WithContextDialer(dial)}})
		if err != nil {
			t.Error(err)
			return 0
		}
		defer c.Close()
		begin := cpu()
		for i := range calls {
			if i%2 == 0 {
				_, err = c.Put(context.Background(), "a", "b")
			} else {
				_, err = c.Get(context.Background(), "a")
			}
			if err != nil {
				t.Error(err)
			}
		}
		return (cpu() - begin) / calls
	}
	names := []sim.ProcessID{"etcd-1", "etcd-2", "etcd-3"}
	compare(t, names, func(w *sim.World) {
		etcd.New(raft.Config{}, names).AddTo(func(id sim.ProcessID, s sim.Server) { w.AddServer(id, s) })
	}, front.Etcd{}, work, func() net.Conn {
		return &echo{wire: front.Etcd{}.Begin(0).Caller("client-1").Wire("etcd-1"), wake: make(chan struct{}, 1)}
	})
}

// TestZKCost sets and gets a znode before three simulated members, and before a connection that answers each request at
// once, and logs the processor time of a request in both: what the simulation adds to the client's own.
func TestZKCost(t *testing.T) {
	const requests = 2000
	work := func(dial dialer, addresses []string) time.Duration {
		connect := func(_, address string, _ time.Duration) (net.Conn, error) {
			return dial(context.Background(), address)
		}
		c, _, err := zk.Connect(addresses, ttl, zk.WithDialer(connect), zk.WithLogger(silent{}))
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
	names := []sim.ProcessID{"zookeeper-1", "zookeeper-2", "zookeeper-3"}
	compare(t, names, func(w *sim.World) { zookeeper.NewEnsemble(zookeeper.Config{}, names).AddTo(w.AddServer) },
		zkfront.ZooKeeper{}, work, func() net.Conn {
			client, server := net.Pipe()
			go answerAtOnce(server)
			return client
		})
}

type dialer = func(ctx context.Context, address string) (net.Conn, error)

// compare logs what a piece of work takes before simulated members, and before connections that answer at once.
func compare(t *testing.T, members []sim.ProcessID, add func(*sim.World), f sim.Front,
	work func(dialer, []string) time.Duration, echo func() net.Conn) {
	t.Helper()
	var simulated, echoed time.Duration
	synctest.Test(t, func(t *testing.T) {
		d, stacks := bubble.NewDriver(), new(sim.Stacks)
		w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: 500 * time.Microsecond, Hi: 2 * time.Millisecond},
			Stacks: stacks, Wall: d.Wall()})
		add(w)
		d.Begin(w, members, f)
		g := d.Guest("client-1")
		w.AddClient("client-1", 0, func(env sim.Env) {
			g.Call(env, "work", func(context.Context) {
				simulated = work(func(ctx context.Context, address string) (net.Conn, error) {
					return g.DialContext(ctx, "tcp", address)
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
		echoed = work(func(context.Context, string) (net.Conn, error) { return echo(), nil }, []string{"127.0.0.1:1"})
	})
	t.Logf("%v before simulated members, %v before an echo: %.1f times", simulated, echoed,
		float64(simulated)/float64(echoed))
}

// echo is a connection that answers each call at once, with an empty message.
type echo struct {
	wire sim.Wire
	wake chan struct{}

	mu   sync.Mutex
	in   []byte
	over bool
}

func (e *echo) Now() sim.Time { return 0 }

func (e *echo) Ask(args []string, _ history.Attempt, _ string) {
	c, _ := etcd.CallOf(args)
	answer := etcd.Record{Kind: etcd.Settings}.Append(nil)
	if c.Path != etcd.Preface {
		answer = etcd.Record{Kind: etcd.Message, Stream: c.Stream}.Append(nil)
		answer = etcd.Record{Kind: etcd.End, Stream: c.Stream}.Append(answer)
	}
	e.wire.Arrived(e, answer, nil)
}

func (e *echo) Deliver(b []byte) { e.in = append(e.in, b...) }
func (e *echo) HangUp()          { e.over = true }

func (e *echo) rouse() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *echo) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.wire.Written(e, b)
	e.rouse()
	return len(b), err
}

func (e *echo) Read(b []byte) (int, error) {
	for {
		e.mu.Lock()
		n, over := copy(b, e.in), e.over
		e.in = e.in[n:]
		e.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case over:
			return 0, io.EOF
		}
		<-e.wake
	}
}

func (e *echo) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	e.rouse()
	return nil
}

func (e *echo) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (e *echo) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (e *echo) SetDeadline(time.Time) error      { return nil }
func (e *echo) SetReadDeadline(time.Time) error  { return nil }
func (e *echo) SetWriteDeadline(time.Time) error { return nil }

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
