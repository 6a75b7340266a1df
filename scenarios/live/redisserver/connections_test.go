//go:build linux

package redisserver

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// askOn sends a request on a given connection, and returns the RESP reply.
func (c *client) askOn(conn int, args ...string) string {
	was := c.conn
	defer func() { c.conn = was }()
	c.conn = conn
	return string(c.sendAs("client-1/1", args...).Raw())
}

// hears waits for the next push on a connection and returns it.
func (c *client) hears(conn int) string {
	b, _ := c.Receive(sim.Conn{Server: c.server, N: conn}, patient)
	return string(b)
}

// TestConnectionsAnswerTheSame checks that a simulated node and a real server treat connections the same way. Each
// connection has its own subscriptions, invalidations, transactions, protocol version and end.
func TestConnectionsAnswerTheSame(t *testing.T) {
	var said [2][]string
	for i, run := range []func(func(c *client)){
		func(play func(c *client)) { simulated(t, redis.Config{}, play) },
		func(play func(c *client)) { start(t, Config{}).play(play) },
	} {
		run(func(c *client) {
			say := func(s string) { said[i] = append(said[i], s) }
			say(c.askOn(1, "SUBSCRIBE", "a", "b"))
			say(c.askOn(1, "PSUBSCRIBE", "c*"))
			say(c.askOn(0, "PUBLISH", "b", "news"))
			say(c.hears(1))
			say(c.askOn(0, "PUBLISH", "cc", "more"))
			say(c.hears(1))
			say(c.askOn(1, "PING"))
			say(c.askOn(1, "GET", "k"))
			say(c.askOn(1, "UNSUBSCRIBE", "a", "b"))
			say(c.askOn(1, "UNSUBSCRIBE"))
			say(c.askOn(1, "PUNSUBSCRIBE", "c*"))
			say(c.askOn(1, "GET", "k"))
			say(strings.Join(strings.Fields(c.askOn(2, "HELLO", "3"))[:1], ""))
			say(c.askOn(2, "CLIENT", "TRACKING", "ON"))
			say(c.askOn(2, "GET", "k"))
			say(c.askOn(0, "SET", "k", "1"))
			say(c.hears(2))
			say(c.askOn(2, "SSUBSCRIBE", "s", "t"))
			say(c.askOn(2, "SPUBLISH", "t", "own"))
			say(c.hears(2))
			say(c.askOn(2, "HGETALL", "none"))
			say(c.askOn(0, "MULTI"))
			say(c.askOn(0, "SET", "k", "2"))
			say(c.askOn(3, "GET", "k"))
			say(c.askOn(0, "SUBSCRIBE", "in-a-transaction"))
			say(c.askOn(0, "DISCARD"))
			say(c.askOn(0, "WATCH", "k"))
			say(c.askOn(3, "SET", "k", "3"))
			say(c.askOn(0, "MULTI"))
			say(c.askOn(0, "SET", "k", "4"))
			say(c.askOn(0, "EXEC"))
			say(c.askOn(0, "WAIT", "1", "50"))
			say(c.askOn(3, "QUIT"))
			say(c.hears(3))
			say(c.askOn(3, "GET", "k"))
			c.Close(sim.Conn{Server: c.server, N: 2})
			c.until("*0\r\n", "PUBSUB", "SHARDCHANNELS")
		})
	}
	if !slices.Equal(said[0], said[1]) {
		for i := range said[0] {
			if said[0][i] != said[1][i] {
				t.Errorf("answer %d:\n   simulated %q\n   real      %q", i, said[0][i], said[1][i])
			}
		}
	}
}

// TestWhoWaitsHoldsNobodyUp checks that a blocked request is answered once its reply is available, and that other
// clients are served in the meantime. Later requests on the same connection must be answered after it.
func TestWhoWaitsHoldsNobodyUp(t *testing.T) {
	var waited []string
	r := start(t, Config{})
	got := linesOf(r.play(func(c *client) {
		for i := 1; i <= 2; i++ {
			c.Go(fmt.Sprint("waits ", i), func(e sim.Env) {
				w := &client{t: t, Env: e, w: c.w, server: c.server, conn: i, asked: 1000 * i}
				popped := w.sendAs("client-1/5", "BLPOP", fmt.Sprint("list", i), "0").Raw()
				waited = append(waited, fmt.Sprintf("%d %q", i, popped),
					fmt.Sprintf("%d %q", i, w.sendAs("client-1/6", "GET", "lock").Raw()))
			})
		}
		for blocked := ""; !strings.Contains(blocked, "blocked_clients:2"); {
			blocked = c.askOn(0, "INFO", "clients")
		}
		c.sendAs("client-1/1", "SET", "lock", "1", "NX")
		c.sendAs("client-1/2", "RPUSH", "list2", "second")
		for len(waited) < 2 {
			c.Sleep(time.Millisecond)
		}
		c.sendAs("client-1/3", "RPUSH", "list1", "first")
		for len(waited) < 4 {
			c.Sleep(time.Millisecond)
		}
		c.sendAs("client-1/4", "BLPOP", "list1", "0.01") // nobody pushes an element
	}))
	want := []string{`2 "*2\r\n$5\r\nlist2\r\n$6\r\nsecond\r\n"`, `2 "$1\r\n1\r\n"`,
		`1 "*2\r\n$5\r\nlist1\r\n$5\r\nfirst\r\n"`, `1 "$1\r\n1\r\n"`}
	if !slices.Equal(waited, want) {
		t.Errorf("those who waited have\n  %s\nwant\n  %s", strings.Join(waited, "\n  "), strings.Join(want, "\n  "))
	}
	if len(got) != 1 || !strings.Contains(got[0], "key-set lock") {
		t.Errorf("recorded is\n  %s", strings.Join(got, "\n  "))
	}
}

func TestCommandsThatAreTheRunsOwn(t *testing.T) {
	const own = "is not allowed for clients of a run\r\n"
	const onlyDatabase0 = "-ERR fencepost: clients may use only database 0, because only that one is recorded\r\n"
	start(t, Config{}).play(func(c *client) {
		for args, want := range map[string]string{
			"SHUTDOWN NOSAVE":   "-ERR fencepost: SHUTDOWN " + own,
			"CONFIG SET save 1": "-ERR fencepost: CONFIG SET " + own,
			"client kill 1":     "-ERR fencepost: CLIENT KILL " + own,
			"SELECT 1":          onlyDatabase0,
			"SELECT 0":          "+OK\r\n",
			"COPY a b DB 1":     onlyDatabase0,
			"COPY a db":         ":0\r\n",
			"CONFIG GET save":   "*2\r\n$4\r\nsave\r\n$0\r\n\r\n",
			"NO-SUCH-COMMAND x": "-ERR unknown command 'NO-SUCH-COMMAND', with args beginning with: 'x' \r\n",
		} {
			if got := c.askOn(0, strings.Fields(args)...); got != want {
				t.Errorf("%s:\n got %q\nwant %q", args, got, want)
			}
		}
	})
}
