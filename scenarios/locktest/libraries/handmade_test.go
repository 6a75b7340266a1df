package libraries

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	redigolib "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// driver is a client for one server, with its library's default timeouts.
type driver interface {
	// session opens one connection and calls use, passing it a function that sends commands on this connection.
	session(ctx context.Context, use func(do command) error) error
	Close() error
}

// command sends a request and returns the reply as text; a null reply is "".
type command func(args ...string) (string, error)

// drivers maps each library to a function that opens a driver.
var drivers = map[string]func(c *locktest.Client) (driver, error){
	"go-redis": func(c *locktest.Client) (driver, error) { return onGoRedisAlone{goRedis(c, 0)}, nil },
	"redigo": func(c *locktest.Client) (driver, error) {
		dial := func(ctx context.Context) (redigolib.Conn, error) {
			return redigolib.DialContext(ctx, "tcp", c.Addr(0), redigolib.DialContextFunc(c.DialContext))
		}
		return onRedigoAlone{&redigolib.Pool{MaxIdle: 3, DialContext: dial}}, nil
	},
	"rueidis": func(c *locktest.Client) (driver, error) {
		client, err := rueidis.NewClient(rueidisOption(c.Addr(0), c.DialContext))
		return onRueidisAlone{client}, err
	},
}

type onGoRedisAlone struct{ *redis.Client }

func (d onGoRedisAlone) session(ctx context.Context, use func(command) error) error {
	conn := d.Conn()
	defer conn.Close()
	return use(func(args ...string) (string, error) {
		list := make([]any, len(args))
		for i, a := range args {
			list[i] = a
		}
		return answer(conn.Do(ctx, list...).Result())
	})
}

type onRedigoAlone struct{ *redigolib.Pool }

func (d onRedigoAlone) session(ctx context.Context, use func(command) error) error {
	conn, err := d.GetContext(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return use(func(args ...string) (string, error) {
		list := make([]any, len(args)-1)
		for i, a := range args[1:] {
			list[i] = a
		}
		return answer(conn.Do(args[0], list...))
	})
}

type onRueidisAlone struct{ rueidis.Client }

func (d onRueidisAlone) session(ctx context.Context, use func(command) error) error {
	return d.Dedicated(func(c rueidis.DedicatedClient) error {
		return use(func(args ...string) (string, error) {
			return answer(c.Do(ctx, c.B().Arbitrary(args...).Build()).ToAny())
		})
	})
}

func (d onRueidisAlone) Close() error {
	d.Client.Close()
	return nil
}

// answer converts a driver's reply to text.
func answer(said any, err error) (string, error) {
	switch {
	case errors.Is(err, redis.Nil), rueidis.IsRedisNil(err), said == nil:
		if errors.Is(err, redis.Nil) || rueidis.IsRedisNil(err) {
			err = nil
		}
		return "", err
	}
	if bulk, is := said.([]byte); is {
		said = string(bulk)
	}
	return fmt.Sprint(said), err
}

// handmade is a lock with SET NX PX, as programmers write it by hand. There are several kinds of release.
type handmade struct {
	driver
	key, value string
	token      int64
	// early obtains the token before the lock is acquired, which is a mistake.
	early   bool
	release func(do command, key, value string) (int, error)
	until
}

// newHandmade returns a constructor for lock l on a driver.
func newHandmade(open func(*locktest.Client) (driver, error), l handmade) func(*locktest.Client) (locktest.Lock,
	error) {
	return func(c *locktest.Client) (locktest.Lock, error) {
		d, err := open(c)
		if err != nil {
			return nil, err
		}
		own := l
		own.driver, own.key = d, c.Key
		return &own, nil
	}
}

func (l *handmade) Lock(ctx context.Context) error {
	for {
		l.value = rand.Text()
		asked := time.Now()
		switch got, err := l.try(ctx); {
		case got && err == nil && time.Since(asked) < TTL:
			l.begun(asked)
			return nil
		case got || err != nil:
			l.Unlock(ctx) // delete the key, which may have been set
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryEvery):
		}
	}
}

func (l *handmade) try(ctx context.Context) (got bool, err error) {
	err = l.session(ctx, func(do command) error {
		if l.early {
			if err := l.draw(do); err != nil {
				return err
			}
		}
		said, err := do("SET", l.key, l.value, "NX", "PX", strconv.FormatInt(TTL.Milliseconds(), 10))
		got = said == "OK"
		return err
	})
	return got, err
}

func (l *handmade) draw(do command) error {
	n, err := do("INCR", l.key+":token")
	if err == nil {
		l.token, err = strconv.ParseInt(n, 10, 64)
	}
	return err
}

func (l *handmade) Unlock(ctx context.Context) error {
	return l.session(ctx, func(do command) error {
		n, err := l.release(do, l.key, l.value)
		if err == nil && n == 0 {
			err = errNotOwner
		}
		return err
	})
}

func (l *handmade) FencingToken() int64 { return l.token }

// byScript is a release that compares and deletes in one request.
func byScript(do command, key, value string) (int, error) {
	return number(do("EVAL", compareAndDelete, "1", key, value))
}

// byGetAndDel is a release that compares the value in one request and deletes the key in another.
func byGetAndDel(do command, key, value string) (int, error) {
	if owner, err := do("GET", key); owner != value || err != nil {
		return 0, err
	}
	return number(do("DEL", key))
}

// byWatch is a release that watches the key but deletes it without MULTI and EXEC, so that the watch does not prevent
// anything.
func byWatch(do command, key, value string) (n int, err error) {
	if _, err = do("WATCH", key); err != nil {
		return 0, err
	}
	n, err = byGetAndDel(do, key, value)
	if err == nil {
		_, err = do("UNWATCH")
	}
	return n, err
}

func number(text string, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// TestPausesFindWhatChecksAndThenActs checks that a pause between two requests exposes a lock that checks in one
// request and acts in the next, no matter which timeouts its driver has. A lock that does both in one request passes.
func TestPausesFindWhatChecksAndThenActs(t *testing.T) {
	if testing.Short() {
		t.Skip("400 runs of each of twelve locks")
	}
	leased := locktest.Config{Laws: locktest.LeaseLaws}
	// the lock must be free when the paused client continues, so it is held only briefly
	fenced := locktest.Config{Precautions: locktest.Precautions{Fences: true}, Laws: locktest.FencedLaws,
		Hold: time.Second}
	for name, x := range map[string]struct {
		lock handmade
		locktest.Config
		law checker.Law
	}{
		"GET, compare, DEL":  {handmade{release: byGetAndDel}, leased, checker.Ownership},
		"WATCH without EXEC": {handmade{release: byWatch}, leased, checker.Ownership},
		"INCR, then SET":     {handmade{release: byScript, early: true}, fenced, checker.TokenOrder},
		"sound":              {handmade{release: byScript}, leased, ""},
	} {
		for on, open := range drivers {
			t.Run(name+" on "+on, func(t *testing.T) {
				c := x.Config
				c.Servers, c.TTL, c.Faults, c.New = locktest.Redis(1), TTL, locktest.Pauses, newHandmade(open, x.lock)
				c.Seeds = testkit.Size(100, 400, 2000)
				if r, ok := locktest.Explore(t, c); ok {
					breaks(t, r, x.law)
				}
			})
		}
	}
}

// breaks fails the test unless law is violated in some runs. If law is empty, it fails the test if any law is violated
// in any run.
func breaks(t *testing.T, r *locktest.Report, law checker.Law) {
	t.Helper()
	judgeable(t, r)
	found := law == ""
	for _, b := range r.Breaches {
		t.Logf("%s: %s, in %d of %d schedules, from %d", b.Law, b.Cause, b.Runs, r.Runs, b.Seed)
		found = found && law != "" || b.Law == law
	}
	if !found {
		t.Errorf("%d schedules do not show what breaks %q, or break what is sound", r.Runs, law)
	}
}

// TestEverySingleFaultFindsWhatChecksAndThenActs checks that trying every single fault exposes a lock that compares in
// one request and deletes in the next.
func TestEverySingleFaultFindsWhatChecksAndThenActs(t *testing.T) {
	for on, open := range drivers {
		t.Run(on, func(t *testing.T) {
			c := locktest.Config{Servers: locktest.Redis(1), TTL: TTL, Faults: locktest.Pauses,
				Laws: locktest.LeaseLaws, New: newHandmade(open, handmade{release: byGetAndDel}), EachFault: true,
				Clients: 2, Cycles: 2, Hold: 300 * time.Millisecond}
			if r, ok := locktest.Explore(t, c); ok {
				breaks(t, r, checker.Ownership)
			}
		})
	}
}
