//go:build linux

package ensembles

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/cmd/processor"
	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/etcd/front"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	zkfront "github.com/fencepost-sim/fencepost/sim/zookeeper/front"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// TestCost puts and gets keys with three simulated members, and with a connection that answers each call immediately.
// It logs the processor time per call in both cases. The difference is what the simulation adds to the cost of the
// client and of HTTP/2.
func TestCost(t *testing.T) {
	const calls = 1000
	work := func(dial matrixtest.Dial, addresses []string) time.Duration {
		c, err := clientv3.New(clientv3.Config{Endpoints: addresses, Logger: zap.NewNop(),
			DialOptions: []grpc.DialOption{grpc.WithContextDialer(dial)}})
		if err != nil {
			t.Error(err)
			return 0
		}
		defer c.Close()
		begin := processor.Time()
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
		return (processor.Time() - begin) / calls
	}
	names := []sim.ProcessID{"etcd-1", "etcd-2", "etcd-3"}
	matrixtest.LogSimulationCost(t, names, func(w *sim.World) {
		etcd.New(raft.Config{}, names).AddTo(func(id sim.ProcessID, s sim.Server) { w.AddServer(id, s) })
	}, front.Etcd{}, work, func() net.Conn {
		return &echo{wire: front.Etcd{}.Begin().Caller("client-1").Wire("etcd-1"), wake: make(chan struct{}, 1)}
	})
}

// TestZKCost sets and gets a znode with three simulated members, and with a connection that answers each request
// immediately. It logs the processor time per request in both cases. The difference is what the simulation adds to the
// client's own cost.
func TestZKCost(t *testing.T) {
	const requests = 2000
	work := func(dial matrixtest.Dial, addresses []string) time.Duration {
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
		begin := processor.Time()
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
		return (processor.Time() - begin) / requests
	}
	names := []sim.ProcessID{"zookeeper-1", "zookeeper-2", "zookeeper-3"}
	ensemble := func(w *sim.World) { zookeeper.NewEnsemble(zookeeper.Config{}, names).AddTo(w.AddServer) }
	matrixtest.LogSimulationCost(t, names, ensemble,
		zkfront.ZooKeeper{}, work, func() net.Conn {
			client, server := net.Pipe()
			go answerAtOnce(server)
			return client
		})
}

// echo is a connection that immediately answers each call with an empty message.
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

// answerAtOnce acts as a ZooKeeper server that answers each request immediately.
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
