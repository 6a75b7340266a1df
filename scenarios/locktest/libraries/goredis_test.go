package libraries

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// goRedisClient is a function that creates a go-redis client.
type goRedisClient func(*locktest.Client) redis.UniversalClient

// goRedis returns a go-redis client for one server.
func goRedis(c *locktest.Client, i int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: c.Addr(i), Dialer: c.DialContext})
}

// following returns a go-redis client for a replicated server. It dials an address that always connects to the master.
func following(c *locktest.Client) redis.UniversalClient {
	return redis.NewClient(&redis.Options{Addr: c.Addr(0),
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialMaster(ctx, c) }})
}

// failover returns go-redis's own client for a replicated server, which asks the Sentinel for the master.
func failover(c *locktest.Client) redis.UniversalClient {
	return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "redis-1", SentinelAddrs: []string{c.Addr(2)},
		Dialer: c.DialContext})
}

// cluster returns go-redis's client for a Redis Cluster, which asks the members which of them serves a key.
func cluster(c *locktest.Client) redis.UniversalClient {
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs, Dialer: c.DialContext})
}

// redislockLock is a lock from redislock.
type redislockLock struct {
	client redis.UniversalClient
	c      *locktest.Client
	token  string // the token of every attempt; empty: each attempt has a random token
	held   *redislock.Lock
	fence
}

func newRedislock(client goRedisClient) func(*locktest.Client, bool) (locktest.Lock, error) {
	return func(c *locktest.Client, fenced bool) (locktest.Lock, error) {
		return &redislockLock{client: client(c), c: c, fence: fence{on: fenced}}, nil
	}
}

// newRedislockOwnToken creates a lock whose token is its client's name. The token ends with a dot, because no token may
// be a prefix of another.
func newRedislockOwnToken(c *locktest.Client, fenced bool) (locktest.Lock, error) {
	return &redislockLock{client: single(c), c: c, token: c.Name + ".", fence: fence{on: fenced}}, nil
}

func single(c *locktest.Client) redis.UniversalClient { return goRedis(c, 0) }

func (l *redislockLock) Lock(ctx context.Context) (err error) {
	l.held, err = redislock.New(l.client).Obtain(ctx, l.c.Key, TTL,
		&redislock.Options{Token: l.token, RetryStrategy: redislock.LinearBackoff(retryEvery)})
	if err != nil {
		return err
	}
	return l.take(ctx, l, func() (int64, error) { return l.client.Incr(ctx, counter(l.c)).Result() }, func() bool {
		left, err := l.held.TTL(ctx)
		return err == nil && left > 0
	})
}

func (l *redislockLock) Unlock(ctx context.Context) error { return l.held.Release(ctx) }
func (l *redislockLock) Extend(ctx context.Context) error { return l.held.Refresh(ctx, TTL, nil) }
func (l *redislockLock) Close() error                     { return l.client.Close() }

// setNX is the lock that many programmers write by hand with go-redis.
type setNX struct {
	client redis.UniversalClient
	c      *locktest.Client
	n      int
	fence
	until
}

func newSetNX(client goRedisClient) func(*locktest.Client, bool) (locktest.Lock, error) {
	return func(c *locktest.Client, fenced bool) (locktest.Lock, error) {
		return &setNX{client: client(c), c: c, fence: fence{on: fenced}}, nil
	}
}

func (l *setNX) value() string { return l.c.Name + "." + strconv.Itoa(l.n) }

func (l *setNX) Lock(ctx context.Context) error {
	l.n++
	for {
		asked := time.Now()
		ok, err := l.client.SetNX(ctx, l.c.Key, l.value(), TTL).Result()
		if ok {
			l.begun(asked)
			return l.take(ctx, l, func() (int64, error) { return l.client.Incr(ctx, counter(l.c)).Result() }, l.ahead)
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		time.Sleep(retryEvery)
	}
}

const compareAndDelete = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`

var release = redis.NewScript(compareAndDelete)

var errNotOwner = errors.New("not the owner")

func (l *setNX) Unlock(ctx context.Context) error {
	n, err := release.Run(ctx, l.client, []string{l.c.Key}, l.value()).Int()
	if err == nil && n == 0 {
		return errNotOwner
	}
	return err
}

func (l *setNX) Close() error { return l.client.Close() }
