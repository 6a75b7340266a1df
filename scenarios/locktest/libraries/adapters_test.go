package libraries

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// TTL is the time to live that every library is configured with.
const TTL = 8 * time.Second

// retryEvery is the pause between attempts, for libraries that leave retries to the user.
const retryEvery = 100 * time.Millisecond

// Library is a lock library in one of the configurations recommended by its documentation.
type Library struct {
	Name    string // the name in the matrix
	Version string // modules and versions
	Setting string // how the library is configured
	Servers locktest.Servers
	Renewal Renewal
	// New creates a client's lock. If fenced is set, the lock gets its tokens from a counter on the first server.
	New func(c *locktest.Client, fenced bool) (locktest.Lock, error)
	// Keys returns a lock's keys. If it is nil, the lock has a single key, which has the same name as the lock.
	Keys func(lock string) []string
}

// Renewal determines who renews a lock that is held for longer than its TTL.
type Renewal int

const (
	ByNobody  Renewal = iota
	ByUser            // the holder calls Extend
	ByLibrary         // the library renews it
)

const (
	goRedisVersion   = "go-redis v9.23.0"
	redsyncVersion   = "github.com/go-redsync/redsync/v4 v4.18.1 on " + goRedisVersion
	redislockVersion = "github.com/bsm/redislock v0.9.4 on " + goRedisVersion
	followed         = "on one server and a replica, at an address that always leads to the master"
	three            = "on three servers, in ModeDisabled"
)

// All lists the libraries in the matrix.
var All = []Library{
	{"redsync", redsyncVersion, "on five servers", locktest.Redis(5), ByUser, newRedsync(onGoRedis, plain), nil},
	{"redsync-1", redsyncVersion, "on one server, as in its README", locktest.Redis(1), ByUser,
		newRedsync(onGoRedis, plain), nil},
	{"redsync-3", redsyncVersion, three, locktest.Redis(3), ByUser, newRedsync(onQuietGoRedis, plain), nil},
	{"redsync-fail-fast", redsyncVersion, three + ", WithFailFast", locktest.Redis(3), ByUser,
		newRedsync(onQuietGoRedis, with(redsync.WithFailFast(true))), nil},
	{"redsync-set-nx", redsyncVersion, three + ", WithSetNXOnExtend", locktest.Redis(3), ByUser,
		newRedsync(onQuietGoRedis, with(redsync.WithSetNXOnExtend())), nil},
	{"redsync-own-value", redsyncVersion, three + ", WithGenValueFunc that returns the client's name",
		locktest.Redis(3), ByUser, newRedsync(onQuietGoRedis, ownValue), nil},
	{"redsync-v8", "github.com/go-redsync/redsync/v4 v4.18.1 on go-redis v8.11.5", "on five servers",
		locktest.Redis(5), ByUser, newRedsync(onGoRedis8, plain), nil},
	{"redsync-v7", "github.com/go-redsync/redsync/v4 v4.18.1 on go-redis v7.4.1", "on five servers",
		locktest.Redis(5), ByUser, newRedsync(onGoRedis7, plain), nil},
	{"redsync-rueidis", "github.com/go-redsync/redsync/v4 v4.18.1 on rueidis v1.0.78", "on five servers",
		locktest.Redis(5), ByUser, newRedsync(onRueidis, plain), nil},
	{"redsync-redigo", "github.com/go-redsync/redsync/v4 v4.18.1 on redigo v1.9.3", "on five servers",
		locktest.Redis(5), ByUser, newRedsync(onRedigo, plain), nil},
	{"redsync-v1", "github.com/go-redsync/redsync v1.4.2 on redigo v1.9.3", "on five servers", locktest.Redis(5),
		ByUser, newRedsyncV1, nil},
	{"redislock", redislockVersion, "on one server", locktest.Redis(1), ByUser, newRedislock(single), nil},
	{"redislock-own-token", redislockVersion, "on one server, with the client's name as Options.Token",
		locktest.Redis(1), ByUser, newRedislockOwnToken, nil},
	{"redislock-failover", redislockVersion, followed, locktest.Redis(1).Replicated(1), ByUser,
		newRedislock(following), nil},
	{"redislock-sentinel", redislockVersion,
		"on one server, a replica and a Sentinel, through go-redis's FailoverClient",
		locktest.Redis(1).Replicated(1), ByUser, newRedislock(failover), nil},
	{"redislock-cluster", redislockVersion,
		"on a Redis Cluster of three masters with one replica each, through go-redis's ClusterClient; " +
			"node timeout 1 s",
		locktest.Redis(3).Replicated(1).Clustered(time.Second), ByUser, newRedislock(cluster), nil},
	{"setnx", goRedisVersion, "its recipe on one server: SetNX, and a release script", locktest.Redis(1), ByNobody,
		newSetNX(single), nil},
	{"setnx-failover", goRedisVersion, "the recipe of setnx, " + followed, locktest.Redis(1).Replicated(1), ByNobody,
		newSetNX(following), nil},
	{"radix", "github.com/mediocregopher/radix/v4 v4.1.4",
		"SET NX PX on one server, over one connection (radix.Dialer) that is redialed after an error; " +
			"its pool could not be run", locktest.Redis(1), ByNobody, newRadix, nil},
	{"rueidislock", "github.com/redis/rueidis/rueidislock v1.0.78",
		"on one server, with KeyMajority 1 and NoLoopTracking, as documented", locktest.Redis(1), ByLibrary,
		newRueidislock, rueidisKeys},
	{"valkeylock", "github.com/valkey-io/valkey-go/valkeylock v1.0.79",
		"on one server, with KeyMajority 1 and NoLoopTracking", locktest.Redis(1), ByLibrary, newValkeylock,
		valkeyKeys},
}

// fence gets fencing tokens for an adapter.
type fence struct {
	on    bool
	token int64
}

// FencingToken returns the lock's token, or 0 if the lock is used without fencing.
func (f *fence) FencingToken() int64 { return f.token }

var errEnded = errors.New("the lock had ended when its token came")

// take calls incr to get a token for a lock that has been acquired. Then it calls held to check that the lock is still
// held, so that each token was obtained while its holder was holding the lock. If the lock is exclusive, the tokens are
// in the same order as the holders.
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

// counter returns the key of the counter that provides the tokens.
func counter(c *locktest.Client) string { return c.Key + ":token" }

// until stores the end of a lock's validity, for a library that does not report it.
type until struct{ at time.Time }

func (u *until) ValidUntil() time.Time { return u.at }
func (u *until) ahead() bool           { return time.Now().Before(u.at) }

// begun sets the end of the validity to one TTL after the lock was requested.
func (u *until) begun(asked time.Time) { u.at = asked.Add(TTL) }

// within dials with a timeout, which should be the same as in the library's own dialer.
func within(ctx context.Context, timeout time.Duration, dial dialFunc, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return dial(ctx, "tcp", addr)
}

// dialFunc has the signature of net.Dialer.DialContext.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)
