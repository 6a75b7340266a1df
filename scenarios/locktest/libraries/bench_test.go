package libraries

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-redsync/redsync/v4"
	rsredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/bubble"
	node "github.com/fencepost-sim/fencepost/sim/redis"
)

const nodes, clients, cycles = 5, 3, 5

func name(sort string, i int) sim.ProcessID { return sim.ProcessID(fmt.Sprintf("%s-%d", sort, i+1)) }

func open(dial func(ctx context.Context, i int) (net.Conn, error)) (*redsync.Mutex, []*redis.Client) {
	var pools []rsredis.Pool
	var all []*redis.Client
	for i := range nodes {
		c := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("10.0.0.%d:6379", i+1), DisableIdentity: true, Protocol: 2,
			Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, i) }})
		all = append(all, c)
		pools = append(pools, goredis.NewPool(c))
	}
	return redsync.New(pools...).NewMutex("lock", redsync.WithExpiry(8*time.Second)), all
}

func TestBenchRedsync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stacks := bubble.NewDriver(), new(sim.Stacks)
		w := sim.New(0, sim.Options{})
		var wall time.Duration
		const runs = 50
		messages := 0
		start := hostNow()
		for seed := range uint64(runs) {
			w.Reset(seed, sim.Options{Delay: sim.Delay{Lo: 500 * time.Microsecond, Hi: 2 * time.Millisecond}, Stacks: stacks})
			for i := range nodes {
				w.AddServer(name("redis", i), node.New(node.Config{}))
			}
			d.Begin(w, []sim.ProcessID{"redis-1", "redis-2", "redis-3", "redis-4", "redis-5"})
			for n := range clients {
				g := d.Guest(name("client", n))
				w.AddClient(name("client", n), 0, func(env sim.Env) {
					var m *redsync.Mutex
					var all []*redis.Client
					g.Call(env, "New", func(context.Context) {
						m, all = open(func(ctx context.Context, i int) (net.Conn, error) {
							return g.DialContext(ctx, "tcp", d.Addr(name("redis", i)))
						})
					})
					for range cycles {
						var err error
						g.Call(env, "Lock", func(ctx context.Context) { err = m.LockContext(ctx) })
						if err != nil {
							continue
						}
						env.Sleep(time.Second)
						g.Call(env, "Unlock", func(ctx context.Context) { m.UnlockContext(ctx) })
						env.Sleep(100 * time.Millisecond)
					}
					g.Call(env, "Close", func(context.Context) {
						for _, c := range all {
							c.Close()
						}
					})
				})
			}
			if limited := d.Run(sim.Time(time.Hour), func() bool { return !w.Busy() }); limited || w.Err() != nil {
				t.Error(limited, w.Err())
			}
			for n := range clients {
				for i := range nodes {
					messages += w.Sent(name("client", n), name("redis", i))
				}
			}
			if err := d.End(); err != nil {
				t.Error(err)
			}
			w.Finish()
		}
		wall = hostNow() - start
		stacks.Close()
		d.Close()
		t.Logf("%.0f runs/s, %d messages a run, %v a message", runs/wall.Seconds(), messages/runs, wall/time.Duration(messages))
	})
}

// echo answers every command at once.
type echo struct {
	net.Conn
	mu  sync.Mutex
	in  []byte
	out bytes.Buffer
	n   *int
	rd  chan struct{}
}

func (e *echo) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := bufio.NewReader(bytes.NewReader(b))
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			break
		}
		k, _ := strconv.Atoi(line[1 : len(line)-2])
		cmd := ""
		for i := range k {
			r.ReadString('\n')
			s, _ := r.ReadString('\n')
			if i == 0 {
				cmd = s
			}
		}
		*e.n++
		if cmd[0] == 'h' || cmd[0] == 'H' {
			e.out.WriteString("-ERR unknown command\r\n")
		} else if cmd[0] == 'e' || cmd[0] == 'E' {
			e.out.WriteString(":1\r\n")
		} else {
			e.out.WriteString("+OK\r\n")
		}
	}
	select {
	case e.rd <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (e *echo) Read(b []byte) (int, error) {
	for {
		e.mu.Lock()
		if e.out.Len() > 0 {
			defer e.mu.Unlock()
			return e.out.Read(b)
		}
		e.mu.Unlock()
		<-e.rd
	}
}
func (e *echo) Close() error                     { return nil }
func (e *echo) SetDeadline(time.Time) error      { return nil }
func (e *echo) SetReadDeadline(time.Time) error  { return nil }
func (e *echo) SetWriteDeadline(time.Time) error { return nil }
func (e *echo) LocalAddr() net.Addr              { return nil }
func (e *echo) RemoteAddr() net.Addr             { return nil }

func TestBenchEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const runs = 50
		start, messages := hostNow(), 0
		for range runs {
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					m, all := open(func(context.Context, int) (net.Conn, error) {
						return &echo{n: &messages, rd: make(chan struct{}, 1)}, nil
					})
					for range cycles {
						if err := m.Lock(); err != nil {
							t.Error(err)
						}
						time.Sleep(time.Second)
						m.Unlock()
						time.Sleep(100 * time.Millisecond)
					}
					for _, c := range all {
						c.Close()
					}
				})
			}
			wg.Wait()
		}
		wall := hostNow() - start
		t.Logf("%d commands a run, %v a command", messages/runs, wall/time.Duration(messages))
	})
}
