package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// sent is a command that adds an element to a list. Its fields say when it arrives (in ms after t = 1 s), which client
// sends it, and which element it adds.
type sent struct {
	at      int
	client  string
	element string
}

// TestAServerThatWasStoppedReadsOneConnectionAfterTheOther checks the order in which a server executes commands that
// arrived while it was stopped. The expected orders were observed on a redis-server 7.0 that was stopped by SIGSTOP
// while the commands were arriving. A server that is blocked by an fsync reads the commands in the same order.
func TestAServerThatWasStoppedReadsOneConnectionAfterTheOther(t *testing.T) {
	for name, c := range map[string]struct {
		sent    []sent
		reopens string // the client that has reconnected before the server continues
		want    string
	}{
		"all of one connection": {[]sent{{10, "b", "b1"}, {20, "a", "a1"}, {30, "b", "b2"}, {40, "a", "a2"},
			{50, "c", "c1"}, {60, "b", "b3"}}, "", "b1 b2 b3 a1 a2 c1"},
		"one that it has yet to accept": {[]sent{{10, "c", "c1"}, {20, "a", "a1"}, {30, "c", "c2"}, {40, "b", "b1"}},
			"c", "a1 b1 c1 c2"},
	} {
		if got := inOrder(t, redis.Config{}, c.sent, c.reopens); got != c.want {
			t.Errorf("%s: executed %s, and not %s", name, got, c.want)
		}
		if c.reopens == "" {
			slow := redis.Config{Persistence: store.Always, FsyncTime: 200 * ms}
			if got := inOrder(t, slow, append([]sent{{1, "c", "c0"}}, c.sent...), ""); got != "c0 "+c.want {
				t.Errorf("%s, in an fsync: executed %s, and not c0 %s", name, got, c.want)
			}
		}
	}
}

// inOrder returns the elements in the order in which the server added them. If the server has no persistence, it is
// paused while the commands arrive. If reopens is not empty, the client with this name opens a new connection first.
func inOrder(t *testing.T, cfg redis.Config, list []sent, reopens string) (order string) {
	c := newCluster(t, cfg, 0)
	if cfg.Persistence == store.None {
		c.at(time.Second, func() { c.Pause(master) })
		c.at(1500*ms, func() { c.Resume(master) })
	}
	for _, name := range []string{"a", "b", "c"} {
		c.client(name, 0, func(s *session) {
			conn := sim.Conn{Server: master}
			s.ask(master, 0, "PING")
			if name == reopens {
				s.Close(conn)
			}
			for _, x := range list {
				if x.client == name {
					s.Sleep(time.Second + time.Duration(x.at)*ms - c.Now().Duration())
					args := []string{"RPUSH", "list", x.element}
					s.Call(ms, nil, sim.Request{Conn: conn, Args: args, Phase: x.element})
				}
			}
		})
	}
	c.client("reader", 5*time.Second, func(s *session) {
		for _, word := range strings.Fields(s.ask(master, 0, "LRANGE", "list", "0", "-1")) {
			if word[0] != '*' && word[0] != '$' {
				order = strings.TrimSpace(order + " " + word)
			}
		}
	})
	c.run(10 * time.Second)
	return order
}

// TestAPopWhoseTimeIsOverInAPauseGetsNothing checks that a pop times out if its timeout passes while the server is
// paused, even if an element arrives before that. SIGCONT interrupts the server's wait for events, and the server then
// handles timers before connections.
func TestAPopWhoseTimeIsOverInAPauseGetsNothing(t *testing.T) {
	c := newCluster(t, redis.Config{}, 0)
	c.client("client-1", 900*ms, func(s *session) { s.do(master, "BLPOP list 0.3") })
	c.at(time.Second, func() { c.Pause(master) })
	c.client("client-2", 1050*ms, func(s *session) { s.do(master, "RPUSH list x") })
	c.at(2*time.Second, func() { c.Resume(master) })
	c.run(5 * time.Second)
	want(t, "said", untimed(c.said), "client-1 BLPOP list 0.3: *-1", "client-2 RPUSH list x: :1")
}
