package libraries

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-redsync/redsync/v4"
	rsredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/fencepost-sim/fencepost/cmd/processor"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/bubble"
	node "github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/front"
)

// The measured workload uses redsync on go-redis with five servers. Three clients acquire the lock five times each.
const nodes, clients, cycles = 5, 3, 5

type dialer func(ctx context.Context, node int) (net.Conn, error)

func name(sort string, i int) sim.ProcessID { return sim.ProcessID(fmt.Sprintf("%s-%d", sort, i+1)) }

func open(dial dialer) (*redsync.Mutex, []*redis.Client) {
	var pools []rsredis.Pool
	var all []*redis.Client
	for i := range nodes {
		c := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("10.0.0.%d:6379", i+1),
			Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, i) }})
		all = append(all, c)
		pools = append(pools, goredis.NewPool(c))
	}
	return redsync.New(pools...).NewMutex("lock", redsync.WithExpiry(TTL)), all
}

// TestCost measures what the simulation adds to the library's own cost. It runs the workload with simulated servers,
// and with servers in the same synctest bubble that answer immediately, and logs the processor time per request in both
// cases.
func TestCost(t *testing.T) {
	runs := 20
	if testing.Short() {
		runs = 2
	}
	var simulated, echoed time.Duration
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			s, e := simulate(t, runs), echo(t, runs)
			if simulated == 0 || s < simulated {
				simulated = s
			}
			if echoed == 0 || e < echoed {
				echoed = e
			}
		})
	}
	t.Logf("%v a request, %v before an echo: %.1f x-echo", simulated, echoed, float64(simulated)/float64(echoed))
}

func simulate(t *testing.T, runs int) time.Duration {
	d, stacks := bubble.NewDriver(), new(sim.Stacks)
	var names []sim.ProcessID
	for i := range nodes {
		names = append(names, name("redis", i))
	}
	w := sim.New(0, sim.Options{})
	requests, granted, start := 0, 0, processor.Time()
	for seed := range uint64(runs) {
		w.Reset(seed, sim.Options{Delay: sim.Delay{Lo: 500 * time.Microsecond, Hi: 2 * time.Millisecond},
			Stacks: stacks, Wall: d.Wall()})
		for _, n := range names {
			w.AddServer(n, node.New(node.Config{}))
		}
		d.Begin(w, names, front.Redis{})
		for n := range clients {
			g := d.Guest(name("client", n))
			w.AddClient(name("client", n), 0, func(env sim.Env) {
				var m *redsync.Mutex
				var all []*redis.Client
				g.Call(env, "New", func(context.Context) {
					m, all = open(func(ctx context.Context, i int) (net.Conn, error) {
						return g.DialContext(ctx, "tcp", d.Addr(names[i]))
					})
				})
				for range cycles {
					var err error
					g.Call(env, "Lock", func(ctx context.Context) { err = m.LockContext(ctx) })
					if err == nil {
						granted++
						env.Sleep(time.Second)
						g.Call(env, "Unlock", func(ctx context.Context) { m.UnlockContext(ctx) })
					}
					env.Sleep(100 * time.Millisecond)
				}
				g.Call(env, "Close", func(context.Context) { closeAll(all) })
			})
		}
		if limited := d.Run(sim.Time(time.Hour), func() bool { return !w.Busy() }); limited || w.Err() != nil {
			t.Error(limited, w.Err())
		}
		for n := range clients {
			for _, s := range names {
				requests += w.Sent(name("client", n), s)
			}
		}
		if err := d.End(); err != nil {
			t.Error(err)
		}
		w.Finish()
	}
	spent := processor.Time() - start
	if granted == 0 {
		t.Fatal("nobody got the lock")
	}
	stacks.Close()
	d.Close()
	t.Logf("simulated: %.0f runs/s, %d requests a run, %d grants", float64(runs)/spent.Seconds(), requests/runs,
		granted)
	return spent / time.Duration(requests)
}

func closeAll(all []*redis.Client) {
	for _, c := range all {
		c.Close()
	}
}

func echo(t *testing.T, runs int) time.Duration {
	requests, granted, start := 0, 0, processor.Time()
	for range runs {
		servers := make([]holder, nodes)
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				m, all := open(func(_ context.Context, i int) (net.Conn, error) {
					return &instant{server: &servers[i], requests: &requests, wake: make(chan struct{}, 1)}, nil
				})
				for range cycles {
					if err := m.Lock(); err == nil {
						granted++
						time.Sleep(time.Second)
						m.Unlock()
					}
					time.Sleep(100 * time.Millisecond)
				}
				closeAll(all)
			})
		}
		wg.Wait()
	}
	spent := processor.Time() - start
	if granted == 0 {
		t.Fatal("nobody got the lock")
	}
	t.Logf("echo: %d requests a run, %d grants", requests/runs, granted)
	return spent / time.Duration(requests)
}

// holder is a server that has a single key and answers immediately.
type holder struct {
	sync.Mutex
	value string
}

// answer executes the commands that redsync sends: SET NX, and a script that compares and deletes.
func (h *holder) answer(args []string) string {
	h.Lock()
	defer h.Unlock()
	switch strings.ToLower(args[0]) {
	case "set":
		if h.value != "" {
			return "$-1\r\n"
		}
		h.value = args[2]
		return "+OK\r\n"
	case "eval", "evalsha":
		if h.value != args[4] {
			return ":0\r\n"
		}
		h.value = ""
		return ":1\r\n"
	case "hello":
		return "-ERR unknown command\r\n"
	}
	return "+OK\r\n"
}

// instant is a connection whose server computes the answer before Write returns.
type instant struct {
	net.Conn
	server   *holder
	requests *int
	wake     chan struct{}
	mu       sync.Mutex
	out      bytes.Buffer
}

func (c *instant) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := bufio.NewReader(bytes.NewReader(b)); ; {
		args, err := request(r)
		if err != nil {
			break
		}
		*c.requests++
		c.out.WriteString(c.server.answer(args))
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return len(b), nil
}

func request(r *bufio.Reader) (args []string, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	n, _ := strconv.Atoi(line[1 : len(line)-2])
	for range n {
		head, _ := r.ReadString('\n')
		size, _ := strconv.Atoi(head[1 : len(head)-2])
		text := make([]byte, size+2)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, err
		}
		args = append(args, string(text[:size]))
	}
	return args, nil
}

func (c *instant) Read(b []byte) (int, error) {
	for {
		c.mu.Lock()
		if c.out.Len() > 0 {
			defer c.mu.Unlock()
			return c.out.Read(b)
		}
		c.mu.Unlock()
		<-c.wake
	}
}

func (c *instant) Close() error                     { return nil }
func (c *instant) SetDeadline(time.Time) error      { return nil }
func (c *instant) SetReadDeadline(time.Time) error  { return nil }
func (c *instant) SetWriteDeadline(time.Time) error { return nil }
func (c *instant) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *instant) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
