package locktest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// prefixed is a lock whose release deletes the key even if its value is only a prefix of the client's owner value.
type prefixed struct{ plain }

const deleteByPrefix = `local v = redis.call("get", KEYS[1])
if v and string.sub(ARGV[1], 1, #v) == v then return redis.call("del", KEYS[1]) else return 0 end`

func (l *prefixed) Unlock(ctx context.Context) error {
	_, err := l.do(ctx, "EVAL", deleteByPrefix, "1", l.c.Key, l.value())
	return err
}

// renamed changes clients' names so that one name is a prefix of another.
func renamed(c *Client) *Client {
	w := *c
	w.Name = map[string]string{"client-1": "w-1.1", "client-2": "w-1"}[c.Name]
	return &w
}

func (l *prefixed) Lock(ctx context.Context) error {
	l.n = 0 // each client uses a single value, and w-1.1.1 begins with w-1.1
	return l.plain.Lock(ctx)
}

// seizing is a lock that waits for a second and then overwrites the key, even if another client holds the lock.
type seizing struct{ plain }

func (l *seizing) Lock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := l.plain.Lock(ctx); err == nil {
		return nil
	}
	_, err := l.do(context.WithoutCancel(ctx), "SET", l.c.Key, l.value(), "PX", "8000")
	l.until = time.Now().Add(l.ttl)
	return err
}

// tidy is a lock that deletes the key that a failed attempt may have left behind, but uses the same owner value for its
// next attempt.
type tidy struct{ plain }

func (l *tidy) Lock(ctx context.Context) error {
	l.n++
	for ctx.Err() == nil {
		asked := time.Now()
		if said, err := l.do(ctx, "SET", l.c.Key, l.value(), "NX", "PX", "8000"); err == nil && said == "+OK" {
			l.until = asked.Add(l.ttl)
			return nil
		}
		_, _ = l.do(ctx, "EVAL", compareAndDelete, "1", l.c.Key, l.value())
		time.Sleep(100 * time.Millisecond)
	}
	return ctx.Err()
}

// limited is a lock that releases itself two seconds after being acquired, even if the work is not finished.
type limited struct {
	plain
	limit plain // lock with the connection of the timer
}

func (l *limited) Lock(ctx context.Context) error {
	if err := l.plain.Lock(ctx); err != nil {
		return err
	}
	l.limit.c, l.limit.n = l.c, l.n
	time.AfterFunc(2*time.Second, func() { _ = l.limit.Unlock(l.c.Context()) })
	return nil
}

func (l *limited) Close() error {
	_ = l.limit.Close()
	return l.plain.Close()
}

// patient is a lock whose clients wait indefinitely for the message that the holder sends on release.
type patient struct{ plain }

func (l *patient) Lock(ctx context.Context) error {
	l.n++
	for ctx.Err() == nil {
		asked := time.Now()
		said, err := l.do(ctx, "SET", l.c.Key, l.value(), "NX", "PX", strconv.FormatInt(l.ttl.Milliseconds(), 10))
		if err == nil && said == "+OK" {
			l.until = asked.Add(l.ttl)
			return nil
		}
		if _, err := l.do(ctx, "GET", l.c.Key); err != nil {
			continue
		}
		holder, err := l.r.ReadString('\n')
		if err != nil {
			continue
		}
		l.conn.SetDeadline(time.Time{})
		stop := context.AfterFunc(ctx, func() { l.conn.Close() })
		list := "released-by-" + strings.TrimSpace(holder)
		fmt.Fprintf(l.conn, "*3\r\n$5\r\nBLPOP\r\n$%d\r\n%s\r\n$1\r\n0\r\n", len(list), list)
		for range 5 { // read the name of the list and the element
			_, _ = l.r.ReadString('\n')
		}
		stop()
	}
	return ctx.Err()
}

func (l *patient) Unlock(ctx context.Context) error {
	err := l.plain.Unlock(ctx)
	_, failed := l.do(ctx, "LPUSH", "released-by-"+l.value(), "1")
	return errors.Join(err, failed)
}

// TestStoriesOfForeignLocks checks the explanations for locks whose code is unknown. They must say what the requests
// show. They must not suggest a remedy that, judging by the requests, is already in place.
func TestStoriesOfForeignLocks(t *testing.T) {
	const ttl = 8 * time.Second
	for name, test := range map[string]struct {
		config Config
		law    checker.Law
		cause  string
		says   []string
		never  []string
	}{
		"deletes whoever holds it": {
			Config{New: newCareless, Plan: []string{"pause client-1 for 12s after acquired"}},
			checker.Ownership, "removed by non-owner",
			[]string{"The server did not check the owner before it acted.",
				"Remedy: Delete only after checking the owner, in one step"}, []string{"random value"}},
		"compares a prefix": {
			Config{New: making(func(c *Client) Lock { return &prefixed{plain{c: renamed(c), ttl: ttl}} }), Clients: 2,
				Plan: []string{"pause client-1 for 12s after acquired"}, Hold: 6 * time.Second},
			checker.Ownership, "removed by non-owner",
			[]string{"compared only a part of the owner value", "Remedy: Compare the whole owner value"},
			[]string{"did not check the owner", "Delete only after checking"}},
		"sets the key over another's": {
			Config{New: making(func(c *Client) Lock { return &seizing{plain{c: c, ttl: ttl}} }), Hold: 4 * time.Second,
				Plan: []string{"pause client-1 for 1ms at 1s"}},
			checker.LeaseExclusion, "removed by non-owner (overwritten)",
			[]string{"the key of client-1 was overwritten by a request that did not own it",
				"Remedy: Set the key only if there is none (NX)"},
			[]string{"was removed", "Delete only after checking", "random value"}},
		"sends one value for all tries": {
			Config{New: making(func(c *Client) Lock { return &tidy{plain{c: c, ttl: ttl}} }), Clients: 2,
				Hold: 3 * time.Second, Plan: []string{"delay message 2 of client-2 -> redis-1 by 4s"}},
			checker.LeaseExclusion, "removed by its own holder (late try)",
			[]string{"a late request of an earlier attempt removed the key of client-2",
				"in an earlier attempt with the same owner value",
				"Remedy: Give each attempt its own random value"},
			[]string{"continued to work", "compare-and-expire"}},
		"a timer gives the lock up": {
			Config{New: making(func(c *Client) Lock { return &limited{plain: plain{c: c, ttl: ttl}} }), Clients: 2,
				Hold: 4 * time.Second, Plan: []string{"pause client-1 for 1ms at 100s"}},
			checker.LeaseExclusion, "removed by its own holder",
			[]string{"by its own holder, which continued as if it still had the",
				"Remedy: Delete the key only when the work that it guards has ended"},
			[]string{"earlier attempt", "random value", "how often the holder has acquired"}},
		"waits for a message for as long as it takes": {
			Config{New: making(func(c *Client) Lock { return &patient{plain{c: c, ttl: ttl}} }), Hold: time.Second,
				Plan: []string{"crash client-1 after acquired"}},
			checker.DeadlockFreedom, "stuck although nobody holds",
			[]string{"Remedy: Set a timeout far below the TTL for each connection attempt, " +
				"each request (including the one for " +
				"a session)"},
			[]string{"random delay"}},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 6)
			c := test.config
			c.Seeds, c.Laws = testkit.Size(2, 2, 6), []checker.Law{test.law}
			c.SkipTrial = true
			r, ok := Explore(t, c)
			if !ok {
				return
			}
			story := ""
			for _, b := range r.Breaches {
				if b.Cause.String() == test.cause && story == "" {
					small, err := r.Shrink(b)
					if err != nil {
						t.Fatal(err)
					}
					story = strings.Join(strings.Fields(small.Text), " ")
				}
			}
			if story == "" {
				t.Fatalf("not %s: %+v %v", test.cause, r.Breaches, r.Failures)
			}
			for _, words := range test.says {
				if !strings.Contains(story, words) {
					t.Errorf("%q is not in\n%s", words, story)
				}
			}
			for _, words := range test.never {
				if strings.Contains(story, words) {
					t.Errorf("%q is in\n%s", words, story)
				}
			}
		})
	}
}
