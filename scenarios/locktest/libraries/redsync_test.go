package libraries

import (
	"context"
	"errors"
	"net"
	"time"

	redsyncv1 "github.com/go-redsync/redsync"
	"github.com/go-redsync/redsync/v4"
	rsredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	redigolib "github.com/gomodule/redigo/redis"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// redsyncLock is a mutex of redsync.
type redsyncLock struct {
	*redsync.Mutex
	fence
	clients []interface{ Close() error }
	incr    func(context.Context) (int64, error)
}

func redsyncOnGoRedis(c *locktest.Client, fenced bool) locktest.Lock {
	l := &redsyncLock{fence: fence{on: fenced}}
	var pools []rsredis.Pool
	for i := range c.Addrs {
		client := goRedis(c, i)
		l.clients = append(l.clients, client)
		pools = append(pools, goredis.NewPool(client))
		if i == 0 {
			l.incr = func(ctx context.Context) (int64, error) { return client.Incr(ctx, counter(c)).Result() }
		}
	}
	l.Mutex = redsync.New(pools...).NewMutex(c.Key, redsync.WithExpiry(TTL))
	return l
}

func redsyncOnRedigo(c *locktest.Client, fenced bool) locktest.Lock {
	l := &redsyncLock{fence: fence{on: fenced}}
	var pools []rsredis.Pool
	for i, addr := range c.Addrs {
		pool := redigoPool(c, addr)
		l.clients = append(l.clients, pool)
		pools = append(pools, redigo.NewPool(pool))
		if i == 0 {
			l.incr = func(context.Context) (int64, error) { return redigoIncr(pool, c) }
		}
	}
	l.Mutex = redsync.New(pools...).NewMutex(c.Key, redsync.WithExpiry(TTL))
	return l
}

// redigoDialTimeout is that of redigo's own dialer (conn.go, line 227).
const redigoDialTimeout = 30 * time.Second

// redigoPool is a pool as the examples of redigo and of redsync open it (redsync: examples/redigo).
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

func (l *redsyncLock) Extend(ctx context.Context) error {
	_, err := l.ExtendContext(ctx)
	return err
}

func (l *redsyncLock) Close() error {
	var all error
	for _, c := range l.clients {
		all = errors.Join(all, c.Close())
	}
	return all
}

// redsyncV1 is a mutex of redsync before it was a module of its fourth version. It says of no lock until when it is
// valid.
type redsyncV1 struct {
	mutex *redsyncv1.Mutex
	fence
	until
	pools []*redigolib.Pool
	c     *locktest.Client
}

func newRedsyncV1(c *locktest.Client, fenced bool) locktest.Lock {
	l := &redsyncV1{fence: fence{on: fenced}, c: c}
	var pools []redsyncv1.Pool
	for _, addr := range c.Addrs {
		pool := redigoPool(c, addr)
		l.pools = append(l.pools, pool)
		pools = append(pools, pool)
	}
	l.mutex = redsyncv1.New(pools).NewMutex(c.Key, redsyncv1.SetExpiry(TTL), redsyncv1.SetTries(1))
	return l
}

// tries and retryDelay are redsync's own defaults. The adapter makes the tries, to know when the one began that
// acquired.
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
