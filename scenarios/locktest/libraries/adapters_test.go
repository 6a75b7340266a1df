// Package libraries holds adapters of the Go lock libraries that are in wide use, as scenarios/locktest wants a lock,
// and puts each of them under faults. It is a module of its own, so that nobody who imports Fencepost downloads their
// code.
package libraries

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	rsredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	redigolib "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// TTL is the time to live that every library is given.
const TTL = 8 * time.Second

// Library is a lock library, with a configuration that its documents show.
type Library struct {
	Name    string // as the matrix calls it
	Version string // module and version
	Servers locktest.Servers
	Extends bool // its holder prolongs it by calling Extend
	Renews  bool // it keeps itself alive
	New     func(*locktest.Client) locktest.Lock
}

// All are the libraries.
var All = []Library{
	{Name: "redsync", Version: "github.com/go-redsync/redsync/v4 v4.18.1 on go-redis v9.23.0",
		Servers: locktest.Redis(5), Extends: true, New: redsyncOnGoRedis},
	{Name: "redsync-redigo", Version: "github.com/go-redsync/redsync/v4 v4.18.1 on redigo v1.9.3",
		Servers: locktest.Redis(5), Extends: true, New: redsyncOnRedigo},
	{Name: "redislock", Version: "github.com/bsm/redislock v0.9.4 on go-redis v9.23.0", Servers: locktest.Redis(1),
		Extends: true, New: newRedislock},
	{Name: "rueidislock", Version: "github.com/redis/rueidis/rueidislock v1.0.78", Servers: locktest.Redis(1),
		Renews: true, New: newRueidislock},
	{Name: "setnx", Version: "the recipe of go-redis v9.23.0: SetNX, and a script to release",
		Servers: locktest.Redis(1), New: newSetNX},
}

// goRedis is a client of go-redis for one server.
func goRedis(c *locktest.Client, i int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: c.Addr(i), Dialer: c.DialContext})
}

// redsyncLock is a mutex of redsync.
type redsyncLock struct {
	*redsync.Mutex
	clients []interface{ Close() error }
}

func redsyncOnGoRedis(c *locktest.Client) locktest.Lock {
	l := &redsyncLock{}
	var pools []rsredis.Pool
	for i := range c.Addrs {
		client := goRedis(c, i)
		l.clients = append(l.clients, client)
		pools = append(pools, goredis.NewPool(client))
	}
	l.Mutex = redsync.New(pools...).NewMutex(c.Key, redsync.WithExpiry(TTL))
	return l
}

func redsyncOnRedigo(c *locktest.Client) locktest.Lock {
	l := &redsyncLock{}
	var pools []rsredis.Pool
	for _, addr := range c.Addrs {
		pool := &redigolib.Pool{MaxIdle: 3, IdleTimeout: 240 * time.Second,
			DialContext: func(ctx context.Context) (redigolib.Conn, error) {
				return redigolib.DialContext(ctx, "tcp", addr, redigolib.DialContextFunc(c.DialContext))
			}}
		l.clients = append(l.clients, pool)
		pools = append(pools, redigo.NewPool(pool))
	}
	l.Mutex = redsync.New(pools...).NewMutex(c.Key, redsync.WithExpiry(TTL))
	return l
}

func (l *redsyncLock) Lock(ctx context.Context) error { return l.LockContext(ctx) }

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

// redislockLock is a lock of redislock.
type redislockLock struct {
	client *redis.Client
	key    string
	held   *redislock.Lock
}

func newRedislock(c *locktest.Client) locktest.Lock {
	return &redislockLock{client: goRedis(c, 0), key: c.Key}
}

func (l *redislockLock) Lock(ctx context.Context) (err error) {
	l.held, err = redislock.New(l.client).Obtain(ctx, l.key, TTL,
		&redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)})
	return err
}

func (l *redislockLock) Unlock(ctx context.Context) error { return l.held.Release(ctx) }
func (l *redislockLock) Extend(ctx context.Context) error { return l.held.Refresh(ctx, TTL, nil) }
func (l *redislockLock) Close() error                     { return l.client.Close() }

// rueidisLock is a lock of rueidislock, which keeps itself alive and tells by its context that it is lost.
type rueidisLock struct {
	locker rueidislock.Locker
	key    string
	ctx    context.Context
	cancel context.CancelFunc
}

func newRueidislock(c *locktest.Client) locktest.Lock {
	locker, err := rueidislock.NewLocker(
		rueidislock.LockerOption{KeyMajority: 1, KeyValidity: TTL, ClientOption: rueidis.ClientOption{
			InitAddress: []string{c.Addr(0)}, ForceSingleClient: true,
			DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return c.DialContext(ctx, "tcp", addr)
			}}})
	if err != nil {
		return locktest.Refused(err)
	}
	return &rueidisLock{locker: locker, key: c.Key}
}

func (l *rueidisLock) Lock(ctx context.Context) (err error) {
	l.ctx, l.cancel, err = l.locker.WithContext(ctx, l.key)
	return err
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

// setNX is the lock that many write by hand on go-redis.
type setNX struct {
	client *redis.Client
	key    string
	name   string
	n      int
}

func newSetNX(c *locktest.Client) locktest.Lock {
	return &setNX{client: goRedis(c, 0), key: c.Key, name: c.Name}
}

func (l *setNX) value() string { return l.name + "." + time.Unix(int64(l.n), 0).UTC().Format("150405") }

func (l *setNX) Lock(ctx context.Context) error {
	l.n++
	for {
		ok, err := l.client.SetNX(ctx, l.key, l.value(), TTL).Result()
		if ok || ctx.Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

var release = redis.NewScript(
	`if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`)

func (l *setNX) Unlock(ctx context.Context) error {
	n, err := release.Run(ctx, l.client, []string{l.key}, l.value()).Int()
	if err == nil && n == 0 {
		return errors.New("not the owner")
	}
	return err
}

func (l *setNX) Close() error { return l.client.Close() }
