package bubble

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/front"
)

// leftover is what a guest leaves running at the end of its run: goroutines that keep using everything that the run
// gave them.
type leftover struct {
	g     *Guest
	conns []net.Conn
	acts  atomic.Int64
	mu    sync.Mutex
	wrong []error
	stop  chan struct{}
}

func (l *leftover) keep(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, err)
}

// loop calls the given function every few milliseconds until the loop is stopped. Once the run has ended, each call
// must return an error that says that the connection has ended, such as errOver.
func (l *leftover) loop(act func() error) {
	go func() {
		for {
			select {
			case <-l.stop:
				return
			case <-time.After(3 * time.Millisecond):
			}
			over := l.g.Context().Err() != nil
			err := act()
			l.acts.Add(1)
			ended := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF)
			if over && !ended {
				l.keep(err)
			}
		}
	}()
}

// TestWhatARunLeavesBehindReachesNoOther checks that goroutines from earlier runs, which continue to use their
// connections, dials and addresses, do not change later runs. With -race, the test also shows that runs do not share
// any data.
func TestWhatARunLeavesBehindReachesNoOther(t *testing.T) {
	for name, haunted := range map[string]bool{"alone": false, "with what others left": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, stacks := NewDriver(), new(sim.Stacks)
				var left []*leftover
				for seed := range uint64(5) {
					servers := []sim.ProcessID{"redis-1", "redis-2", "redis-3"}[:1+seed%3]
					w := sim.New(seed, sim.Options{Delay: sim.Delay{Lo: time.Millisecond, Hi: time.Millisecond},
						Stacks: stacks, Wall: d.Wall()})
					for _, s := range servers {
						w.AddServer(s, &silent{})
					}
					d.Begin(w, servers, front.Redis{})
					l := &leftover{g: d.Guest("client-1"), stop: make(chan struct{})}
					w.AddClient("client-1", 0, func(env sim.Env) {
						l.g.Call(env, "Lock", func(ctx context.Context) { l.lock(t, ctx, servers, haunted) })
						env.Sleep(time.Second)
					})
					if limited := d.Run(sim.Time(time.Minute), func() bool { return !w.Busy() }); limited {
						t.Errorf("seed %d did not end", seed)
					}
					if err := d.End(); err != nil {
						t.Errorf("seed %d: %v", seed, err)
					}
					if sent := w.Sent("client-1", "redis-1"); sent != 1 {
						t.Errorf("seed %d: %d requests were sent, want 1", seed, sent)
					}
					w.Finish()
					left = append(left, l)
				}
				for i, l := range left {
					close(l.stop)
					if len(l.wrong) > 0 || haunted && l.acts.Load() == 0 {
						t.Errorf("run %d: %d acts, %v", i, l.acts.Load(), l.wrong[:min(3, len(l.wrong))])
					}
				}
				stacks.Close()
				d.Close()
			})
		})
	}
}

// silent is a server that never answers.
type silent struct{ sim.Server }

func (*silent) Start(sim.Host)        {}
func (*silent) Serve(*sim.Incoming)   {}
func (*silent) ClockChanged()         {}
func (*silent) Stop(sim.Stop)         {}
func (*silent) Fault(sim.ServerFault) {}
func (*silent) Wake(uint64)           {}

// lock opens two connections to one server, and sends a request on one of them. If haunts is true, it starts goroutines
// that outlive the run.
func (l *leftover) lock(t *testing.T, ctx context.Context, servers []sim.ProcessID, haunts bool) {
	for range 2 {
		c, err := l.g.DialContext(ctx, "tcp", l.g.Addr("redis-1"))
		if err != nil {
			t.Error(err)
			return
		}
		l.conns = append(l.conns, c)
	}
	if _, err := l.conns[0].Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
		t.Error(err)
	}
	if !haunts {
		return
	}
	over := func(err error) error { // ignores errors during the run
		if l.g.Context().Err() == nil {
			return nil
		}
		return err
	}
	buffer := make([]byte, 10)
	l.loop(func() error {
		l.conns[0].SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := l.conns[0].Read(buffer)
		return over(err)
	})
	l.loop(func() error {
		if l.g.Context().Err() == nil {
			return nil
		}
		_, err := l.conns[0].Write([]byte("*1\r\n$4\r\nPING\r\n"))
		return err
	})
	l.loop(func() error {
		if len(l.g.Addrs()) != len(servers) || l.conns[1].RemoteAddr().String() != l.g.Addr("redis-1") {
			return errors.New("its servers are others")
		}
		if l.g.Context().Err() == nil {
			return nil
		}
		_, err := l.g.DialContext(context.Background(), "tcp", l.g.Addr("redis-1"))
		return err
	})
	l.loop(func() error {
		if l.g.Context().Err() == nil {
			return nil
		}
		l.g.DialContext(context.Background(), "tcp", "localhost:6379") // may fail only its own run, which has ended
		l.g.Raise(new(sim.Signal))
		l.conns[1].Close()
		return l.conns[1].Close()
	})
}
