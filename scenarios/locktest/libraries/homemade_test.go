package libraries

import (
	"context"
	"errors"
	"slices"
	"testing"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/redis/rueidis"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/scenarios/locktest/homemade"
)

// commanders lists client libraries, each with a single connection to a server.
var commanders = []struct {
	name string
	dial homemade.Dial
	// retries is set if the client repeats a request that gets no answer. A repeated request would break up a
	// transaction.
	retries bool
}{
	{"go-redis", onOneGoRedis(-1), false},
	{"go-redis that retries", onOneGoRedis(3), true},
	{"redigo", onOneRedigo, false},
	{"rueidis", onOneRueidis, false},
}

// transactions lists the locks that send MULTI and EXEC, or WATCH.
var transactions = []string{"string-watch", "string-multi", "string-watched-take", "string-multi-prolongs",
	"string-unwatched-take", "string-watch-without-multi"}

// goRedisConn is a Conn that uses a go-redis client with a single connection.
type goRedisConn struct{ client *redis.Client }

func onOneGoRedis(retries int) homemade.Dial {
	return func(c *locktest.Client, addr string) homemade.Conn {
		return goRedisConn{redis.NewClient(&redis.Options{Addr: addr, Dialer: c.DialContext, PoolSize: 1,
			MaxRetries: retries, ContextTimeoutEnabled: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})}
	}
}

func (g goRedisConn) Do(ctx context.Context, args ...string) (any, error) {
	reply, err := g.client.Do(ctx, anys(args)...).Result()
	if refused := redis.Error(nil); errors.Is(err, redis.Nil) {
		return nil, nil
	} else if errors.As(err, &refused) {
		return nil, homemade.ReplyError(refused.Error())
	}
	return reply, err
}

func (g goRedisConn) Close() error { return g.client.Close() }

func anys(args []string) []any {
	all := make([]any, len(args))
	for i, a := range args {
		all[i] = a
	}
	return all
}

// redigoConn is a Conn that uses a redigo connection. It reopens the connection after an error.
type redigoConn struct {
	c    *locktest.Client
	addr string
	conn redigo.Conn
}

func onOneRedigo(c *locktest.Client, addr string) homemade.Conn { return &redigoConn{c: c, addr: addr} }

func (r *redigoConn) Do(ctx context.Context, args ...string) (reply any, err error) {
	if r.conn == nil {
		if r.conn, err = redigo.DialContext(ctx, "tcp", r.addr, redigo.DialContextFunc(r.c.DialContext)); err != nil {
			r.conn = nil
			return nil, err
		}
	}
	reply, err = redigo.DoContext(r.conn, ctx, args[0], anys(args[1:])...)
	if refused := redigo.Error(""); errors.As(err, &refused) {
		return nil, homemade.ReplyError(refused)
	}
	if err != nil {
		_ = r.Close()
	}
	return texts(reply), err
}

// texts converts the byte slices in a reply to strings.
func texts(reply any) any {
	switch r := reply.(type) {
	case []byte:
		return string(r)
	case []any:
		all := make([]any, len(r))
		for i := range r {
			all[i] = texts(r[i])
		}
		return all
	}
	return reply
}

func (r *redigoConn) Close() error {
	if r.conn == nil {
		return nil
	}
	err := r.conn.Close()
	r.conn = nil
	return err
}

// rueidisConn is a Conn that uses a rueidis client with its own connection.
type rueidisConn struct {
	c      *locktest.Client
	addr   string
	client rueidis.Client
	conn   rueidis.DedicatedClient
	give   func()
}

func onOneRueidis(c *locktest.Client, addr string) homemade.Conn {
	return &rueidisConn{c: c, addr: addr}
}

func (r *rueidisConn) Do(ctx context.Context, args ...string) (reply any, err error) {
	if r.client == nil {
		o := rueidisOption(r.addr, r.c.DialContext)
		o.DisableCache, o.DisableRetry = true, true
		if r.client, err = rueidis.NewClient(o); err != nil {
			r.client = nil
			return nil, err
		}
	}
	if r.conn == nil {
		r.conn, r.give = r.client.Dedicate()
	}
	command := r.conn.B().Arbitrary(args[0]).Args(args[1:]...)
	if args[0] == "BLPOP" {
		reply, err = r.conn.Do(ctx, command.Blocking()).ToAny()
	} else {
		reply, err = r.conn.Do(ctx, command.Build()).ToAny()
	}
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	if refused, ok := rueidis.IsRedisErr(err); ok {
		return nil, homemade.ReplyError(refused.Error())
	}
	if err != nil {
		r.drop()
	}
	return reply, err
}

func (r *rueidisConn) drop() {
	if r.conn != nil {
		r.give()
		r.conn = nil
	}
}

func (r *rueidisConn) Close() error {
	r.drop()
	if r.client != nil {
		r.client.Close()
		r.client = nil
	}
	return nil
}

// TestHomemadeLocksOnEachClient checks that the report on a lock does not depend on the client library that the lock
// uses. By default, each lock is tested with one client library. With FENCEPOST_FULL=1, it is tested with all of them.
func TestHomemadeLocksOnEachClient(t *testing.T) {
	full := testkit.Full()
	for i, client := range commanders {
		chosen := func(lock int, name string) bool {
			return (full || lock%len(commanders) == i) && !(client.retries && slices.Contains(transactions, name))
		}
		for n, l := range homemade.SoundLocks() {
			d := homemade.Dresses[(n/len(commanders)+i)%len(homemade.Dresses)]
			if !chosen(n, l.Name) {
				continue
			}
			for _, p := range l.Promises {
				t.Run(client.name+"/"+l.Name+"/"+p.Name, func(t *testing.T) {
					l.Keeps(t, p, d, client.dial, testkit.Size(3, 3, 50))
				})
			}
		}
		for n, l := range homemade.BrokenLocks() {
			d := homemade.Dresses[(n/len(commanders)+i)%len(homemade.Dresses)]
			if !chosen(n, l.Name) {
				continue
			}
			for _, s := range l.Shows {
				t.Run(client.name+"/"+l.Name+"/"+string(s.Law), func(t *testing.T) {
					l.Reports(t, s, d, client.dial, 3)
				})
			}
		}
	}
}
