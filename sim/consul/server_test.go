package consul

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/http1"
)

const ms = time.Millisecond

// lab is a world with a cluster and 1 ms delays.
type lab struct {
	*sim.World
	*Cluster
	t     *testing.T
	names []sim.ProcessID
}

func newLab(t *testing.T, members int) *lab {
	l := &lab{World: sim.New(7, sim.Options{Delay: sim.Delay{Lo: ms, Hi: ms}}), t: t}
	for i := range members {
		l.names = append(l.names, sim.ProcessID(fmt.Sprintf("consul-%d", i+1)))
	}
	l.Cluster = New(Config{}, l.names)
	l.AddTo(l.World.AddServer)
	return l
}

// client adds a client that runs a script.
func (l *lab) client(name string, script func(*caller)) {
	l.AddClient(sim.ProcessID(name), 0, func(env sim.Env) { script(&caller{l, env, 0, history.Attempt(name + "/1")}) })
}

// run lets the given time pass. All clients' scripts must have ended by then.
func (l *lab) run(until time.Duration) {
	l.t.Helper()
	l.Run(sim.Time(until), nil)
	switch {
	case l.Err() != nil:
		l.t.Fatal(l.Err())
	case l.Busy():
		l.t.Errorf("a client's script has not ended after %v", until)
	}
}

// caller is a client that runs a script.
type caller struct {
	*lab
	env     sim.Env
	member  int
	attempt history.Attempt
}

// ask sends a request to a member and returns the answer.
func (c *caller) ask(r http1.Request, timeout time.Duration) Answer {
	replies := c.env.Call(timeout, nil, sim.Request{Conn: sim.Conn{Server: c.names[c.member]}, Args: r.Args(),
		Attempt: c.attempt, Phase: Name(r.Args())})
	return ReadAnswer(&replies[0])
}

// want sends a request and checks the answer's code and the beginning of its body.
func (c *caller) want(r http1.Request, code int, body string) Answer {
	c.t.Helper()
	a := c.ask(r, time.Minute)
	if a.Code != code || !strings.HasPrefix(a.Body, body) {
		c.t.Errorf("%s %s: %d %q, want %d %q", r.Method, r.URI, a.Code, a.Body, code, body)
	}
	return a
}

func (c *caller) session(o SessionOptions) string {
	c.t.Helper()
	a := c.want(CreateSession(o), 200, `{"ID":"`)
	return a.Session()
}

// sessionInfo returns the request that reads a session.
func sessionInfo(id string) http1.Request {
	return http1.Request{Method: "GET", URI: "/v1/session/info/" + id}
}

func (c *caller) pair(key string) Pair {
	c.t.Helper()
	a := c.ask(GetKey(key, false, 0, 0), time.Minute)
	p, ok := a.Pair()
	if !ok {
		c.t.Errorf("%s: %d %q", key, a.Code, a.Body)
	}
	return p
}

// TestASessionLocksAKey checks that only one session at a time holds a key, and that only that session can release it.
// LockIndex must count acquisitions.
func TestASessionLocksAKey(t *testing.T) {
	l := newLab(t, 3)
	l.client("client-1", func(c *caller) {
		for c.member = range c.names {
			a, b := c.session(SessionOptions{TTL: "15s"}), c.session(SessionOptions{})
			key := fmt.Sprintf("lock-%d", c.member)
			c.want(Acquire(key, a, "x"), 200, "true")
			c.want(Acquire(key, b, "y"), 200, "false")
			c.want(Acquire(key, a, "x"), 200, "true")
			c.want(ReleaseKey(key, b, "y"), 200, "false")
			if p := c.pair(key); p.Session != a || p.LockIndex != 1 || string(p.Value) != "x" {
				t.Errorf("held: %+v", p)
			}
			c.want(ReleaseKey(key, a, "z"), 200, "true")
			if p := c.pair(key); p.Session != "" || p.LockIndex != 1 || string(p.Value) != "z" {
				t.Errorf("released: %+v", p)
			}
			c.want(Acquire(key, b, "y"), 200, "true")
			if p := c.pair(key); p.Session != b || p.LockIndex != 2 {
				t.Errorf("held again: %+v", p)
			}
		}
	})
	l.run(time.Minute)
}

// TestAFollowerSaysThatAnErrorComesFromACall checks that the leader's own clients get its error as it is. A follower
// passes on the request, and its clients get the error with the words that Consul's RPC puts before it. What a member
// can refuse by itself is refused in the same words by all.
func TestAFollowerSaysThatAnErrorComesFromACall(t *testing.T) {
	l := newLab(t, 3)
	const leader = 0
	l.client("client-1", func(c *caller) {
		for c.member = range c.names {
			prefix := "rpc error making call: "
			if c.member == leader {
				prefix = ""
			}
			c.want(Acquire("key", "8bf2c1a0-5a1b-4a5e-9d7a-0123456789ab", "x"), 500, prefix+"raft apply failed: ")
			c.want(put("/v1/session/create", `{"TTL":"9s"}`), 500, prefix+"Invalid Session TTL '9000000000', must be")
			c.want(put("/v1/session/create", `{"TTL":"soon"}`), 500, prefix+"Session TTL 'soon' invalid: ")
			c.want(put("/v1/session/create", `{"Behavior":"keep"}`), 500, prefix+"Invalid Behavior setting 'keep'")
			c.want(put("/v1/session/create", `{"TTL":9}`), 400, "Request decode failed: ")
			c.want(put("/v1/kv/", "x"), 400, "Missing key name")
			c.want(put("/v1/session/renew/8bf2c1a0-5a1b-4a5e-9d7a-0123456789ab", ""), 404, "Session id '")
		}
	})
	l.run(time.Minute)
	if all := l.leaders(); len(all) != 1 || all[0] != leader+1 {
		t.Errorf("leaders: %v", all)
	}
}

// TestALockCanBeAcquiredAfterTwiceTheTTLAndTheLockDelay checks that a session ends two TTLs after it was last renewed,
// and that its key is then released or deleted. The key must be available once the lock delay has passed.
func TestALockCanBeAcquiredAfterTwiceTheTTLAndTheLockDelay(t *testing.T) {
	for _, delay := range []string{"", "0s", "5s"} {
		for _, behavior := range []string{Release, Delete} {
			l := newLab(t, 3)
			var ended, acquired time.Duration
			l.client("client-1", func(c *caller) {
				a := c.session(SessionOptions{TTL: "10s", LockDelay: delay, Behavior: behavior})
				c.want(Acquire("lock", a, ""), 200, "true")
				c.env.Sleep(8 * time.Second)
				c.want(RenewSession(a), 200, `[{"ID":"`+a)
				for c.env.Sleep(100 * ms); c.ask(sessionInfo(a), time.Second).Body != "[]"; c.env.Sleep(100 * ms) {
				}
				ended = c.env.Monotonic()
				if exists := c.pair("lock").Key != ""; exists == (behavior == Delete) {
					t.Errorf("%s: the key exists: %t", behavior, exists)
				}
				c.want(RenewSession(a), 404, "Session id '"+a+"' not found")
				b := c.session(SessionOptions{})
				for c.ask(Acquire("lock", b, ""), time.Second).Body != "true" {
					c.env.Sleep(100 * ms)
				}
				acquired = c.env.Monotonic()
			})
			l.run(2 * time.Minute)
			wait := map[string]time.Duration{"": 15 * time.Second, "0s": 0, "5s": 5 * time.Second}[delay]
			if about := 28 * time.Second; ended < about || ended > about+300*ms {
				t.Errorf("the session ended after %v, want about %v", ended, about)
			}
			if got := acquired - ended; got < wait-300*ms || got > wait+300*ms {
				t.Errorf("lock delay %q, %s: acquired %v after the end of the session", delay, behavior, got)
			}
		}
	}
}

// TestEachWriteChecksItsOptionsAndItsValue checks that a write is refused if one of its options is no number or its
// value is too large, whatever its other options are. A DELETE ignores the options of PUT.
func TestEachWriteChecksItsOptionsAndItsValue(t *testing.T) {
	large := strings.Repeat("a", maxValue+1)
	for _, c := range []struct {
		method, options, body string
		code                  int
	}{
		{"PUT", "", large, 413}, {"PUT", "flags=5", large, 413}, {"PUT", "cas=0", large, 413},
		{"PUT", "acquire=s", large, 413}, {"PUT", "release=s", large, 413}, {"PUT", "cas=x", large, 500},
		{"PUT", "flags=x", large, 500}, {"PUT", "flags=x", "", 500}, {"PUT", "flags=x&cas=0", "", 500},
		{"PUT", "flags=x&acquire=s", "", 500}, {"PUT", "flags=5&cas=x", "", 500}, {"DELETE", "cas=x", "", 500},
	} {
		_, refused := readCall(&http1.Request{Method: c.method, URI: "/v1/kv/k?" + c.options, Body: c.body})
		if refused == nil || refused.code != c.code {
			t.Errorf("%s %s, %d bytes: %+v, want %d", c.method, c.options, len(c.body), refused, c.code)
		}
	}
	for options, want := range map[string]op{"": opDelete, "acquire=s": opDelete, "release=s&flags=x": opDelete,
		"cas=1&acquire=s": opDeleteCAS} {
		c, refused := readCall(&http1.Request{Method: "DELETE", URI: "/v1/kv/k?" + options})
		if refused != nil || c.op != want {
			t.Errorf("DELETE %s: %+v, %+v, want %s", options, c, refused, want)
		}
	}
}

// TestAQueryMayWaitForAnyTime checks that even the shortest wait ends with an answer.
func TestAQueryMayWaitForAnyTime(t *testing.T) {
	l := newLab(t, 1)
	l.client("client-1", func(c *caller) {
		for _, wait := range []string{"1ns", "15ns", "16ns", "1ms"} {
			c.want(http1.Request{Method: "GET", URI: "/v1/kv/key?index=9&wait=" + wait}, 404, "")
		}
	})
	l.run(time.Second)
}
