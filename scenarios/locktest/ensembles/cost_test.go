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

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/bubble"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/etcd/front"
	"github.com/fencepost-sim/fencepost/sim/raft"
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
	work := func(dial func(context.Context, string) (net.Conn, error), addresses []string) time.Duration {
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
	var simulated, echoed time.Duration
	synctest.Test(t, func(t *testing.T) {
		d, stacks := bubble.NewDriver(), new(sim.Stacks)
		names := []sim.ProcessID{"etcd-1", "etcd-2", "etcd-3"}
		w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: 500 * time.Microsecond, Hi: 2 * time.Millisecond},
			Stacks: stacks, Wall: d.Wall()})
		etcd.New(raft.Config{}, names).AddTo(func(id sim.ProcessID, s sim.Server) { w.AddServer(id, s) })
		d.Begin(w, names, front.Etcd{})
		g := d.Guest("client-1")
		w.AddClient("client-1", 0, func(env sim.Env) {
			g.Call(env, "work", func(context.Context) {
				simulated = work(func(ctx context.Context, addr string) (net.Conn, error) {
					return g.DialContext(ctx, "tcp", addr)
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
		echoed = work(func(context.Context, string) (net.Conn, error) {
			wire := front.Etcd{}.Begin(0).Caller("client-1").Wire("etcd-1")
			return &echo{wire: wire, wake: make(chan struct{}, 1)}, nil
		}, d.Addrs())
	})
	t.Logf("%v a call, %v before an echo: %.1f x-echo", simulated, echoed, float64(simulated)/float64(echoed))
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
