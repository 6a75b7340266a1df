package libraries

import (
	"context"
	"errors"
	"net"
	"time"

	redis7 "github.com/go-redis/redis/v7"
	redis8 "github.com/go-redis/redis/v8"
	redsyncv1 "github.com/go-redsync/redsync"
	"github.com/go-redsync/redsync/v4"
	rsredis "github.com/go-redsync/redsync/v4/redis"
	goredis7 "github.com/go-redsync/redsync/v4/redis/goredis/v7"
	goredis8 "github.com/go-redsync/redsync/v4/redis/goredis/v8"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	rsrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	redigolib "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// redsyncLock is a lock that uses a redsync mutex.
type redsyncLock struct {
	*redsync.Mutex
	fence
	close []func() error
	incr  func(context.Context) (int64, error)
}

// redsyncPool is a redsync pool for one server, created by one of redsync's adapters. It includes functions that close
// it and obtain tokens.
type redsyncPool struct {
	rsredis.Pool
	close func() error
	incr  func(ctx context.Context, key string) (int64, error)
	err   error // why the pool could not be opened
}

// newRedsync returns a constructor for redsync's lock, with one pool per server and the given options.
func newRedsync(open func(c *locktest.Client, i int) redsyncPool, options func(*locktest.Client) []redsync.Option) func(
	*locktest.Client, bool) (locktest.Lock, error) {
	return func(c *locktest.Client, fenced bool) (locktest.Lock, error) {
		l := &redsyncLock{fence: fence{on: fenced}}
		var pools []rsredis.Pool
		for i := range c.Addrs {
			pool := open(c, i)
			if pool.err != nil {
				return nil, pool.err
			}
			l.close = append(l.close, pool.close)
			pools = append(pools, pool)
			if i == 0 {
				l.incr = func(ctx context.Context) (int64, error) { return pool.incr(ctx, counter(c)) }
			}
		}
		l.Mutex = redsync.New(pools...).NewMutex(c.Key, append(options(c), redsync.WithExpiry(TTL))...)
		return l, nil
	}
}

func plain(*locktest.Client) []redsync.Option { return nil }

// with returns a function that gives every client the same options.
func with(o ...redsync.Option) func(*locktest.Client) []redsync.Option {
	return func(*locktest.Client) []redsync.Option { return o }
}

// ownValue makes redsync use the client's name as the value of its keys. Each client has a unique name.
func ownValue(c *locktest.Client) []redsync.Option {
	return []redsync.Option{redsync.WithGenValueFunc(func() (string, error) { return c.Name, nil })}
}

func onGoRedis(c *locktest.Client, i int) redsyncPool { return poolOf(goRedis(c, i)) }

// onQuietGoRedis uses go-redis, configured so that it does not hold a mutex while opening a connection.
func onQuietGoRedis(c *locktest.Client, i int) redsyncPool {
	return poolOf(redis.NewClient(&redis.Options{Addr: c.Addr(i), Dialer: c.DialContext,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}}))
}

func poolOf(client *redis.Client) redsyncPool {
	return redsyncPool{Pool: goredis.NewPool(client), close: client.Close,
		incr: func(ctx context.Context, key string) (int64, error) { return client.Incr(ctx, key).Result() }}
}

// onGoRedis8 uses go-redis v8 and always waits for the same time before a retry. The library's own jitter comes from a
// source that is seeded once per process (internal/rand/rand.go), so equal seeds would give different runs.
func onGoRedis8(c *locktest.Client, i int) redsyncPool {
	client := redis8.NewClient(&redis8.Options{Addr: c.Addr(i), Dialer: c.DialContext,
		MinRetryBackoff: retryBackoff, MaxRetryBackoff: retryBackoff})
	return redsyncPool{Pool: goredis8.NewPool(client), close: client.Close,
		incr: func(ctx context.Context, key string) (int64, error) { return client.Incr(ctx, key).Result() }}
}

// retryBackoff is how long onGoRedis8 always waits before a retry. It is between go-redis's default limits of 8 ms and
// 512 ms.
const retryBackoff = 16 * time.Millisecond

func onGoRedis7(c *locktest.Client, i int) redsyncPool {
	client := redis7.NewClient(&redis7.Options{Addr: c.Addr(i), Dialer: c.DialContext})
	return redsyncPool{Pool: goredis7.NewPool(client), close: client.Close,
		incr: func(_ context.Context, key string) (int64, error) { return client.Incr(key).Result() }}
}

func onRueidis(c *locktest.Client, i int) redsyncPool {
	client, err := rueidis.NewClient(rueidisOption(c.Addr(i), c.DialContext))
	if err != nil {
		return redsyncPool{err: err}
	}
	return redsyncPool{Pool: rsrueidis.NewPool(rueidiscompat.NewAdapter(client)),
		close: func() error { client.Close(); return nil },
		incr: func(ctx context.Context, key string) (int64, error) {
			return client.Do(ctx, client.B().Incr().Key(key).Build()).AsInt64()
		}}
}

func onRedigo(c *locktest.Client, i int) redsyncPool {
	pool := redigoPool(c, c.Addr(i))
	return redsyncPool{Pool: redigo.NewPool(pool), close: pool.Close,
		incr: func(context.Context, string) (int64, error) { return redigoIncr(pool, c) }}
}

// redigoDialTimeout is the timeout in redigo's own dialer (conn.go, line 227).
const redigoDialTimeout = 30 * time.Second

// redigoPool returns a connection pool that is opened as in redigo's and redsync's examples (redsync: examples/redigo).
func redigoPool(c *locktest.Client, addr string) *redigolib.Pool {
	ping := func(conn redigolib.Conn, _ time.Time) error {
		_, err := conn.Do("PING")
		return err
	}
	return &redigolib.Pool{MaxIdle: 3, IdleTimeout: 240 * time.Second, TestOnBorrow: ping,
		Dial: func() (redigolib.Conn, error) {
			return redigolib.Dial("tcp", addr,
				redigolib.DialContextFunc(func(ctx context.Context, _, addr string) (net.Conn, error) {
					return within(ctx, redigoDialTimeout, c.DialContext, addr)
				}))
		}}
}

func redigoIncr(pool *redigolib.Pool, c *locktest.Client) (int64, error) {
	conn := pool.Get()
	defer conn.Close()
	return redigolib.Int64(conn.Do("INCR", counter(c)))
}

func (l *redsyncLock) Lock(ctx context.Context) error {
	if err := l.LockContext(ctx); err != nil {
		return err
	}
	return l.take(ctx, l, func() (int64, error) { return l.incr(ctx) },
		func() bool { return time.Now().Before(l.Until()) })
}

func (l *redsyncLock) Unlock(ctx context.Context) error {
	_, err := l.UnlockContext(ctx)
	return err
}

func (l *redsyncLock) ValidUntil() time.Time { return l.Until() }

func (l *redsyncLock) Extend(ctx context.Context) error {
	_, err := l.ExtendContext(ctx)
	return err
}

func (l *redsyncLock) Close() error {
	var all error
	for _, c := range l.close {
		all = errors.Join(all, c())
	}
	return all
}

// redsyncV1 is a mutex from redsync's first version, which does not report how long a lock is valid.
type redsyncV1 struct {
	mutex *redsyncv1.Mutex
	fence
	until
	pools []*redigolib.Pool
	c     *locktest.Client
}

func newRedsyncV1(c *locktest.Client, fenced bool) (locktest.Lock, error) {
	l := &redsyncV1{fence: fence{on: fenced}, c: c}
	var pools []redsyncv1.Pool
	for _, addr := range c.Addrs {
		pool := redigoPool(c, addr)
		l.pools = append(l.pools, pool)
		pools = append(pools, pool)
	}
	l.mutex = redsyncv1.New(pools).NewMutex(c.Key, redsyncv1.SetExpiry(TTL), redsyncv1.SetTries(1))
	return l, nil
}

// tries and retryDelay are redsync's own defaults. The adapter makes the attempts itself, so that it knows when the
// successful one began.
const (
	tries      = 32
	retryDelay = 500 * time.Millisecond
)

func (l *redsyncV1) Lock(ctx context.Context) (err error) {
	for i := range tries {
		if i > 0 {
			time.Sleep(retryDelay)
		}
		asked := time.Now()
		if err = l.mutex.Lock(); err == nil {
			l.begun(asked)
			return l.take(ctx, l, func() (int64, error) { return redigoIncr(l.pools[0], l.c) }, l.ahead)
		}
	}
	return err
}

func (l *redsyncV1) Unlock(context.Context) error {
	_, err := l.mutex.Unlock()
	return err
}

func (l *redsyncV1) Extend(context.Context) error {
	asked := time.Now()
	ok, err := l.mutex.Extend()
	if err == nil && !ok {
		err = errors.New("not extended")
	}
	if ok {
		l.begun(asked)
	}
	return err
}

func (l *redsyncV1) Close() error {
	var all error
	for _, p := range l.pools {
		all = errors.Join(all, p.Close())
	}
	return all
}
