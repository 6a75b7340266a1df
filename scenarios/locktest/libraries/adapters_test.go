package libraries

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// TTL is the time to live that every library gets.
const TTL = 8 * time.Second

// retryEvery is the pause between two attempts of a lock whose library leaves that to its user.
const retryEvery = 100 * time.Millisecond

// Library is a lock library with one configuration, as its documentation shows it.
type Library struct {
	Name    string // the name in the matrix
	Version string // modules and versions
	Servers locktest.Servers
	Renewal Renewal
	// New makes the lock of a client. If fenced, the lock has tokens, from a counter on the first server.
	New func(c *locktest.Client, fenced bool) locktest.Lock
	// Keys returns the keys of a lock; nil: its only key has the lock's name.
	Keys func(lock string) []string
}

// Renewal says how a lock is kept that is held for longer than its TTL.
type Renewal int

const (
	ByNobody  Renewal = iota
	ByUser            // its holder calls Extend
	ByLibrary         // it renews itself
)

const (
	goRedisVersion = "go-redis v9.23.0"
	redsyncVersion = "github.com/go-redsync/redsync/v4 v4.18.1"
	rueidisVersion = "github.com/redis/rueidis/rueidislock v1.0.78"
	followed       = ", at an address that follows the master"
)

// All lists the libraries of the matrix.
var All = []Library{
	{"redsync", redsyncVersion + " on " + goRedisVersion, locktest.Redis(5), ByUser, newRedsync(onGoRedis, plain), nil},
	{"redsync-1", redsyncVersion + " on " + goRedisVersion + ", on one server, as its README shows it",
		locktest.Redis(1),
		ByUser, newRedsync(onGoRedis, plain), nil},
	{"redsync-3", redsyncVersion + " on " + goRedisVersion + " in ModeDisabled, on three servers", locktest.Redis(3),
		ByUser, newRedsync(onQuietGoRedis, plain), nil},
	{"redsync-fail-fast", "as redsync-3, WithFailFast", locktest.Redis(3), ByUser,
		newRedsync(onQuietGoRedis, with(redsync.WithFailFast(true))), nil},
	{"redsync-set-nx", "as redsync-3, WithSetNXOnExtend", locktest.Redis(3), ByUser,
		newRedsync(onQuietGoRedis, with(redsync.WithSetNXOnExtend())), nil},
	{"redsync-own-value", "as redsync-3, WithGenValueFunc that returns the client's name", locktest.Redis(3), ByUser,
		newRedsync(onQuietGoRedis, ownValue), nil},
	{"redsync-v8", redsyncVersion + " on go-redis v8.11.5", locktest.Redis(5), ByUser,
		newRedsync(onGoRedis8, plain), nil},
	{"redsync-v7", redsyncVersion + " on go-redis v7.4.1", locktest.Redis(5), ByUser,
		newRedsync(onGoRedis7, plain), nil},
	{"redsync-rueidis", redsyncVersion + " on rueidis v1.0.78", locktest.Redis(5), ByUser,
		newRedsync(onRueidis, plain), nil},
	{"redsync-redigo", redsyncVersion + " on redigo v1.9.3", locktest.Redis(5), ByUser,
		newRedsync(onRedigo, plain), nil},
	{"redsync-v1", "github.com/go-redsync/redsync v1.4.2 on redigo v1.9.3", locktest.Redis(5), ByUser,
		newRedsyncV1, nil},
	{"redislock", "github.com/bsm/redislock v0.9.4 on " + goRedisVersion, locktest.Redis(1), ByUser,
		newRedislock(single), nil},
	{"redislock-own-token", "as redislock, with the client's name for Options.Token", locktest.Redis(1), ByUser,
		newRedislockOwnToken, nil},
	{"redislock-failover", "github.com/bsm/redislock v0.9.4 on " + goRedisVersion + followed,
		locktest.Redis(1).Replicated(1), ByUser, newRedislock(following), nil},
	{"redislock-sentinel", "github.com/bsm/redislock v0.9.4 on FailoverClient of " + goRedisVersion,
		locktest.Redis(1).Replicated(1), ByUser, newRedislock(failover), nil},
	{"setnx", "the recipe of " + goRedisVersion + ": SetNX, and a script to release", locktest.Redis(1), ByNobody,
		newSetNX(single), nil},
	{"setnx-failover", "the recipe of " + goRedisVersion + followed, locktest.Redis(1).Replicated(1), ByNobody,
		newSetNX(following), nil},
	{"radix", "SET NX PX by github.com/mediocregopher/radix/v4 v4.1.4", locktest.Redis(1), ByNobody, newRadix, nil},
	{"rueidislock", rueidisVersion + " with KeyMajority 1 and NoLoopTracking, as documented",
		locktest.Redis(1), ByLibrary, newRueidislock, rueidisKeys},
	{"valkeylock", "github.com/valkey-io/valkey-go/valkeylock v1.0.79, opened alike",
		locktest.Redis(1), ByLibrary, newValkeylock, valkeyKeys},
}

// fence is the part of an adapter that draws tokens.
type fence struct {
	on    bool
	token int64
}

// Token returns the token of the lock, or 0 if the lock is used without fencing.
func (f *fence) Token() int64 { return f.token }

var errEnded = errors.New("the lock had ended when its token came")

// take draws a token, with incr, for a lock that has been acquired. If the lock excludes other holders, the tokens are
// in the order of the holders: held is called after incr and says that the lock is still held, so incr was carried out
// while it was held, before the next holder's.
func (f *fence) take(ctx context.Context, lock locktest.Lock, incr func() (int64, error), held func() bool) error {
	if !f.on {
		return nil
	}
	token, err := incr()
	if err == nil && !held() {
		err = errEnded
	}
	if err != nil {
		return errors.Join(err, lock.Unlock(ctx))
	}
	f.token = token
	return nil
}

// counter returns the key of the counter from which tokens are drawn.
func counter(c *locktest.Client) string { return c.Key + ":token" }

// until records the end of a lock's validity for a library that does not.
type until struct{ at time.Time }

func (u *until) Until() time.Time { return u.at }
func (u *until) ahead() bool      { return time.Now().Before(u.at) }

// begun records that the TTL began to run no earlier than asked.
func (u *until) begun(asked time.Time) { u.at = asked.Add(TTL) }

// within dials with a timeout: the one of the library's own dialer.
func within(ctx context.Context, timeout time.Duration, dial dialFunc, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return dial(ctx, "tcp", addr)
}

// dialFunc has the signature of net.Dialer.DialContext.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)
