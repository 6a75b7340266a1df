package libraries

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	"github.com/valkey-io/valkey-go"
	"github.com/valkey-io/valkey-go/valkeylock"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/bubble"
	node "github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/front"
)

// watched is a rueidislock or valkeylock lock. The library renews it, and cancels its context when the lock is lost.
type watched struct {
	acquire func(ctx context.Context, name string) (context.Context, context.CancelFunc, error)
	incr    func(ctx context.Context, key string) (int64, error)
	close   func()
	c       *locktest.Client
	ctx     context.Context
	cancel  context.CancelFunc
	fence
}

func (l *watched) Lock(ctx context.Context) (err error) {
	if l.ctx, l.cancel, err = l.acquire(ctx, l.c.Key); err != nil {
		return err
	}
	return l.take(ctx, l, func() (int64, error) { return l.incr(l.ctx, counter(l.c)) },
		func() bool { return l.ctx.Err() == nil })
}

func (l *watched) Unlock(context.Context) error {
	l.cancel()
	return nil
}

func (l *watched) Lost() <-chan struct{} { return l.ctx.Done() }

func (l *watched) Close() error {
	l.close()
	return nil
}

func newRueidislock(c *locktest.Client, fenced bool) (locktest.Lock, error) {
	l, err := openRueidislock(c.Addr(0), c.DialContext, documented)
	if err != nil {
		return nil, err
	}
	incr := func(ctx context.Context, key string) (int64, error) {
		return l.Client().Do(ctx, l.Client().B().Incr().Key(key).Build()).AsInt64()
	}
	return &watched{acquire: l.WithContext, incr: incr, close: l.Close, c: c, fence: fence{on: fenced}}, nil
}

// documented contains the options that rueidislock's README shows for a single server.
var documented = rueidislock.LockerOption{KeyMajority: 1, NoLoopTracking: true}

func openRueidislock(addr string, dial dialFunc, o rueidislock.LockerOption) (rueidislock.Locker, error) {
	o.KeyValidity, o.ClientOption = TTL, rueidisOption(addr, dial)
	return rueidislock.NewLocker(o)
}

func rueidisOption(addr string, dial dialFunc) rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: []string{addr}, RetryDelay: evenly,
		DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return within(ctx, d.Timeout, dial, addr)
		}}
}

// rueidisKeys returns a lock's only key (lock.go, keyname).
func rueidisKeys(lock string) []string { return []string{"rueidislock:0:" + lock} }

// evenly is rueidis's own retry delay (retry.go, defaultRetryDelayFn) without its random part, which comes from
// math/rand/v2 and cannot be seeded.
func evenly(attempts int, _ rueidis.Completed, _ error) time.Duration { return backoff(attempts) }

func backoff(attempts int) time.Duration {
	return min(time.Second, time.Duration(1<<min(20, attempts))*time.Microsecond*3/2)
}

func newValkeylock(c *locktest.Client, fenced bool) (locktest.Lock, error) {
	o := valkeylock.LockerOption{KeyMajority: 1, NoLoopTracking: true, KeyValidity: TTL}
	o.ClientOption = valkey.ClientOption{InitAddress: []string{c.Addr(0)},
		RetryDelay: func(attempts int, _ valkey.Completed, _ error) time.Duration { return backoff(attempts) },
		DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return within(ctx, d.Timeout, c.DialContext, addr)
		}}
	l, err := valkeylock.NewLocker(o)
	if err != nil {
		return nil, err
	}
	incr := func(ctx context.Context, key string) (int64, error) {
		return l.Client().Do(ctx, l.Client().B().Incr().Key(key).Build()).AsInt64()
	}
	return &watched{acquire: l.WithContext, incr: incr, close: l.Close, c: c, fence: fence{on: fenced}}, nil
}

// valkeyKeys returns a lock's only key (lock.go, keyname).
func valkeyKeys(lock string) []string { return []string{"valkeylock:0:" + lock} }

// TestRueidislockWakesItself checks what happens while a lock is held without NOLOOP. Each extension makes the server
// notify the library that its own key has changed, and the library then extends the key again.
func TestRueidislockWakesItself(t *testing.T) {
	for name, c := range map[string]struct {
		option      rueidislock.LockerOption
		least, most int
	}{
		"as documented for one server": {documented, 5, 50},
		"one key":                      {rueidislock.LockerOption{KeyMajority: 1}, 1000, 100_000},
		"its defaults":                 {rueidislock.LockerOption{}, 3000, 300_000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if n := requestsOf(t, c.option); n < c.least || n > c.most {
					t.Errorf("%d requests, want %d to %d", n, c.least, c.most)
				} else {
					t.Logf("%d requests in %v", n, TTL*5/2)
				}
			})
		})
	}
}

// requestsOf returns the number of requests that a client sends while it holds a lock for two and a half times the TTL.
func requestsOf(t *testing.T, o rueidislock.LockerOption) (sent int) {
	d, stacks := bubble.NewDriver(), new(sim.Stacks)
	w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: 500 * time.Microsecond, Hi: 2 * time.Millisecond},
		Stacks: stacks, Wall: d.Wall()})
	w.AddServer("redis-1", node.New(node.Config{}))
	d.Begin(w, []sim.ProcessID{"redis-1"}, front.Redis{})
	g := d.Guest("client-1")
	w.AddClient("client-1", 0, func(env sim.Env) {
		var locker rueidislock.Locker
		var release context.CancelFunc
		var err error
		g.Call(env, "Lock", func(ctx context.Context) {
			if locker, err = openRueidislock(d.Addr("redis-1"), g.DialContext, o); err == nil {
				_, release, err = locker.WithContext(ctx, "lock")
			}
		})
		if err != nil {
			t.Error(err)
			return
		}
		env.Sleep(TTL * 5 / 2)
		g.Call(env, "Unlock", func(context.Context) {
			release()
			locker.Close()
		})
	})
	if limited := d.Run(sim.Time(time.Minute), func() bool { return !w.Busy() }); limited || w.Err() != nil {
		t.Error(limited, w.Err())
	}
	sent = w.Sent("client-1", "redis-1")
	if err := d.End(); err != nil {
		t.Error(err)
	}
	w.Finish()
	stacks.Close()
	d.Close()
	return sent
}
