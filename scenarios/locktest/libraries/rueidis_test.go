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

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/bubble"
	node "github.com/fencepost-sim/fencepost/sim/redis"
)

// rueidisLock is a lock of rueidislock, which keeps itself alive and tells by its context that it is lost.
type rueidisLock struct {
	locker rueidislock.Locker
	c      *locktest.Client
	ctx    context.Context
	cancel context.CancelFunc
	fence
}

func newRueidislock(c *locktest.Client, fenced bool) locktest.Lock {
	locker, err := openRueidislock(c.Addr(0), c.DialContext, documented)
	if err != nil {
		return locktest.Refused(err)
	}
	return &rueidisLock{locker: locker, c: c, fence: fence{on: fenced}}
}

// documented is what the example of its README says for one server.
var documented = rueidislock.LockerOption{KeyMajority: 1, NoLoopTracking: true}

func openRueidislock(addr string, dial dialFunc, o rueidislock.LockerOption) (rueidislock.Locker, error) {
	o.KeyValidity = TTL
	o.ClientOption = rueidis.ClientOption{InitAddress: []string{addr}, RetryDelay: evenly,
		DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return within(ctx, d.Timeout, dial, addr)
		}}
	return rueidislock.NewLocker(o)
}

// rueidisKeys is the one key of a lock (lock.go, keyname).
func rueidisKeys(lock string) []string { return []string{"rueidislock:0:" + lock} }

// evenly is rueidis' own delay before a retry (retry.go, defaultRetryDelayFn), without its jitter: that is drawn by
// math/rand/v2, which cannot be seeded.
func evenly(attempts int, _ rueidis.Completed, _ error) time.Duration {
	return min(time.Second, time.Duration(1<<min(20, attempts))*time.Microsecond*3/2)
}

func (l *rueidisLock) Lock(ctx context.Context) (err error) {
	if l.ctx, l.cancel, err = l.locker.WithContext(ctx, l.c.Key); err != nil {
		return err
	}
	client := l.locker.Client()
	return l.take(ctx, l, func() (int64, error) {
		return client.Do(l.ctx, client.B().Incr().Key(counter(l.c)).Build()).AsInt64()
	}, func() bool { return l.ctx.Err() == nil })
}

func (l *rueidisLock) Unlock(context.Context) error {
	l.cancel()
	return nil
}

func (l *rueidisLock) Lost() <-chan struct{} { return l.ctx.Done() }

func (l *rueidisLock) Close() error {
	l.locker.Close()
	return nil
}

// TestRueidislockWakesItself: while a lock is held, each of its extensions tells it that its key has changed, if it has
// not asked for NOLOOP, and then it extends again.
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

// requestsOf is how many requests a client sends that holds a lock for two and a half times its TTL.
func requestsOf(t *testing.T, o rueidislock.LockerOption) (sent int) {
	d, stacks := bubble.NewDriver(), new(sim.Stacks)
	w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: 500 * time.Microsecond, Hi: 2 * time.Millisecond},
		Stacks: stacks, Wall: d.Wall()})
	w.AddServer("redis-1", node.New(node.Config{}))
	d.Begin(w, []sim.ProcessID{"redis-1"})
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
