package zookeeper_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

func TestWatchFiresBeforeTheNewDataIsSeen(t *testing.T) {
	s := newService(t, 1)
	seen := 0
	for seed := range uint64(200) {
		s.again(seed)
		s.client(1, nil, func(env sim.Env, c *zookeeper.Client) {
			_, _, _ = c.Create(env, "", "/a", "old", zookeeper.Persistent)
			var w zookeeper.Watch
			_, _, _ = c.GetData(env, "", "/a", &w)
			for data := "old"; data == "old"; {
				if data, _, _ = c.GetData(env, "", "/a", nil); data == "new" && !w.Fired().Raised() {
					t.Errorf("seed %d: the new data came before the watch's event", seed)
				}
			}
			seen++
			if w.Event() != (zookeeper.Event{Type: zookeeper.NodeDataChanged, Path: "/a"}) {
				t.Errorf("seed %d: the watch saw %v", seed, w.Event())
			}
		})
		s.client(2, nil, func(env sim.Env, c *zookeeper.Client) {
			env.Sleep(100 * ms)
			_, _ = c.SetData(env, "", "/a", "new", zookeeper.AnyVersion)
		})
		s.run(time.Minute)
	}
	if seen != 200 {
		t.Errorf("only %d of 200 runs ended", seen)
	}
}

func TestReadsMayBeStaleUntilSync(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.client(1, nil, func(env sim.Env, c *zookeeper.Client) {
		_, _, _ = c.Create(env, "", "/a", "old", zookeeper.Persistent)
		env.Sleep(time.Second)
		s.Slow("zookeeper-1", "zookeeper-3", 300*ms)
		_, err := c.SetData(env, "", "/a", "new", zookeeper.AnyVersion)
		s.say("written %v", err)
	})
	s.client(3, nil, func(env sim.Env, c *zookeeper.Client) {
		env.Sleep(1100 * ms)
		read := func() string {
			data, _, _ := c.GetData(env, "", "/a", nil)
			return data
		}
		before, err := read(), c.Sync(env, "")
		s.say("%s %v %s", before, err, read())
	})
	s.run(time.Minute)
	want(t, s.report, "0.0 client-1 CONNECTED", "0.0 client-3 CONNECTED", "1.0 written <nil>", "1.4 old <nil> new")
}

// TestMissedEventsFireAtTheNextMember lets a client be away while the znodes that it watches change.
func TestMissedEventsFireAtTheNextMember(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.client(1, nil, func(env sim.Env, c *zookeeper.Client) {
		for _, path := range []string{"/data", "/gone", "/folder", "/calm"} {
			_, _, _ = c.Create(env, "", path, "", zookeeper.Persistent)
		}
		var w [7]zookeeper.Watch
		_, _, _ = c.GetData(env, "", "/data", &w[0])
		_, _ = c.Exists(env, "", "/gone", &w[1])
		_, _ = c.Exists(env, "", "/born", &w[2])
		_, _, _ = c.Children(env, "", "/folder", &w[3])
		_, _, _ = c.GetData(env, "", "/calm", &w[4])
		_, _, _ = c.Children(env, "", "/calm", &w[5])
		_, _ = c.Exists(env, "", "/unborn", &w[6])
		env.Sleep(20 * time.Second)
		for i := range w {
			s.say("%v", w[i].Event())
		}
		_, _ = c.SetData(env, "", "/calm", "", zookeeper.AnyVersion)
		_, _, _ = c.Create(env, "", "/calm/child", "", zookeeper.Persistent)
		_, _, _ = c.Create(env, "", "/unborn", "", zookeeper.Persistent)
		s.say("%v %v %v", w[4].Event(), w[5].Event(), w[6].Event())
	})
	s.client(2, nil, func(env sim.Env, c *zookeeper.Client) {
		env.Sleep(3 * time.Second)
		_, _ = c.SetData(env, "", "/data", "", zookeeper.AnyVersion)
		_ = c.Delete(env, "", "/gone", zookeeper.AnyVersion)
		_, _, _ = c.Create(env, "", "/born", "", zookeeper.Persistent)
		_, _, _ = c.Create(env, "", "/folder/child", "", zookeeper.Persistent)
	})
	s.isolate("client-1", members[:1], 2*time.Second, 30*time.Second)
	s.run(time.Minute)
	want(t, s.report, "0.0 client-1 CONNECTED", "0.0 client-2 CONNECTED", "4.0 client-1 SUSPENDED",
		"4.1 client-1 CONNECTED",
		"20.0 {NodeDataChanged /data}", "20.0 {NodeDeleted /gone}", "20.0 {NodeCreated /born}",
		"20.0 {NodeChildrenChanged /folder}",
		"20.0 { }", "20.0 { }", "20.0 { }",
		"20.1 {NodeDataChanged /calm} {NodeChildrenChanged /calm} {NodeCreated /unborn}")
}

// TestMissedEventsArriveKindByKind: first the events of data watches, then those of znodes whose creation was awaited,
// then those of children.
func TestMissedEventsArriveKindByKind(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.AddClient("client-1", 0, func(env sim.Env) {
		conn := sim.Conn{Server: "zookeeper-1"}
		ask := func(args ...string) {
			env.Call(time.Second, nil, sim.Request{Conn: conn, Args: args, Phase: args[0]})
		}
		ask(zookeeper.ReqConnect, "0", "6000", "0")
		ask(zookeeper.ReqCreate, "/a", "", "0")
		ask(zookeeper.ReqWatches, "0", zookeeper.WatchChild, "/a", zookeeper.WatchExists, "/a", zookeeper.WatchData,
			"/a")
		for range 3 {
			data, _ := env.Receive(conn, time.Second)
			_, e, _ := zookeeper.ReadEvent(data)
			s.say("%v", e)
		}
	})
	s.run(time.Minute)
	want(t, s.report, "0.0 {NodeDataChanged /a}", "0.0 {NodeCreated /a}", "0.0 {NodeChildrenChanged /a}")
}

// TestAMemberThatLagsTakesNoClientThatHasSeenMore: what a client has seen once, it sees at every member.
func TestAMemberThatLagsTakesNoClientThatHasSeenMore(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.AddClient("client-1", 0, func(env sim.Env) {
		ask := func(n int, args ...string) zookeeper.Answer {
			r := env.Call(10*time.Second, nil, sim.Request{Conn: sim.Conn{Server: "zookeeper-2", N: n}, Args: args,
				Phase: args[0]})
			a, _ := zookeeper.ReadAnswer(&r[0])
			return a
		}
		first := ask(0, zookeeper.ReqConnect, "0", "6000", "0")
		session := strconv.FormatInt(first.Int(0), 10)
		for n, ahead := range []zookeeper.Zxid{0, 1} {
			seen := ask(n, zookeeper.ReqPing).Zxid + ahead
			a := ask(n+1, zookeeper.ReqConnect, session, "6000", strconv.FormatInt(int64(seen), 10))
			s.say("%v", a.Int(0) != 0)
		}
	})
	s.run(time.Minute)
	want(t, s.report, "0.0 true", "0.0 false")
}

func TestWatchesEndWithTheSession(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.client(1, nil, func(env sim.Env, c *zookeeper.Client) {
		var w zookeeper.Watch
		_, err := c.Exists(env, "", "/a", &w)
		env.Sleep(sim.Forever, w.Fired())
		s.say("%v, then %v", err, w.Event())
	})
	s.isolate("client-1", members, time.Second, 20*time.Second)
	s.run(time.Minute)
	want(t, s.report[2:], "21.0 client-1 LOST", "21.0 zookeeper: NONODE, then {None /a}")
}

// TestRequestsOfAConnectionAreServedInOrder lets one task read while another task's write on the same connection is
// under way.
func TestRequestsOfAConnectionAreServedInOrder(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.client(2, nil, func(env sim.Env, c *zookeeper.Client) {
		env.Go("reader", func(env sim.Env) {
			_, err := c.Exists(env, "", "/a", nil)
			s.say("%v", err)
		})
		_, _, err := c.Create(env, "", "/a", "", zookeeper.Persistent)
		s.say("%v", err)
		env.Sleep(time.Second)
	})
	s.run(time.Minute)
	want(t, s.report, "0.0 client-2 CONNECTED", "0.0 <nil>", "0.0 <nil>")
}

func TestServersAnswerAnythingWithoutHarm(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.AddClient("client-1", 0, func(env sim.Env) {
		say := func(args ...string) {
			r := env.Call(time.Second, nil, sim.Request{Conn: sim.Conn{Server: "zookeeper-1"}, Args: args})[0]
			list := r.Array()
			if len(list) != 3 {
				s.say("%v %q", args, r.Raw())
				return
			}
			s.say("%v %q", args, list[2].Raw())
		}
		say("PING")
		say("CONNECT", "x", "y")
		say("NONSENSE")
		say("EXISTS")
		say("CREATE", "/a")
		say("CREATE", "/b", "", "99")
		say("SETWATCHES", "1", "child")
		say("GETDATA", "/none", "1")
		say("CONNECT", "77", "6000")
	})
	s.run(time.Minute)
	want(t, s.report, `0.0 [PING] "-CLOSED\r\n"`, fmt.Sprintf(`0.0 [CONNECT x y] %q`, "*2\r\n:8589934593\r\n:4000\r\n"),
		`0.0 [NONSENSE] "-BADARGUMENTS\r\n"`, `0.0 [EXISTS] "-BADARGUMENTS\r\n"`,
		fmt.Sprintf(`0.0 [CREATE /a] %q`,
			"*8\r\n$2\r\n/a\r\n:8589934594\r\n:8589934594\r\n:8589934594\r\n:0\r\n:0\r\n:0\r\n:0\r\n"),
		`0.0 [CREATE /b  99] "-BADARGUMENTS\r\n"`, `0.0 [SETWATCHES 1 child] "-BADARGUMENTS\r\n"`,
		`0.0 [GETDATA /none 1] "-NONODE\r\n"`, `0.0 [CONNECT 77 6000] "-SESSIONEXPIRED\r\n"`)
}
