package zookeeper_test

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

func TestWatchFiresBeforeTheNewDataIsSeen(t *testing.T) {
	s := newService(t, 1)
	seen := 0
	for seed := range uint64(200) {
		s.rerun(seed)
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

// TestMissedEventsFireAtTheNextMember checks that if another client changes watched znodes while a client is
// disconnected, the watches fire when the client connects to the next member.
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

// TestMissedEventsArriveKindByKind checks the order of missed events after a reconnection: first those for data
// watches, then those for watches that wait for a znode's creation, and then those for child watches.
func TestMissedEventsArriveKindByKind(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.AddClient("client-1", 0, func(env sim.Env) {
		conn := sim.Conn{Server: "zookeeper-1"}
		ask := func(args []string) {
			env.Call(time.Second, nil, sim.Request{Conn: conn, Args: args, Phase: args[0]})
		}
		a := []string{"/a"}
		ask(enter(jute.ConnectRequest{}))
		ask(request(jute.Create, openACL(jute.Record(nil).Text("/a").Text("")).Int(jute.Persistent)))
		ask(request(jute.SetWatches, jute.Record(nil).Long(0).Texts(a).Texts(a).Texts(a)))
		for range 3 {
			data, _ := env.Receive(conn, time.Second)
			e, _ := zookeeper.ReadEvent(data)
			s.say("%v", e)
		}
	})
	s.run(time.Minute)
	want(t, s.report, "0.0 {NodeDataChanged /a}", "0.0 {NodeCreated /a}", "0.0 {NodeChildrenChanged /a}")
}

// TestAMemberThatLagsTakesNoClientThatHasSeenMore checks that a member refuses a client that has seen a change that the
// member has not applied yet.
func TestAMemberThatLagsTakesNoClientThatHasSeenMore(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.AddClient("client-1", 0, func(env sim.Env) {
		ask := func(n int, args []string) *sim.Reply {
			return &env.Call(10*time.Second, nil, sim.Request{Conn: sim.Conn{Server: "zookeeper-2", N: n}, Args: args,
				Phase: args[0]})[0]
		}
		session := sessionOf(ask(0, enter(jute.ConnectRequest{})))
		for n, ahead := range []int64{0, 1} {
			a, _ := zookeeper.ReadAnswer(ask(n, request(jute.Ping, nil)))
			session.Seen = int64(a.Zxid) + ahead
			s.say("%v", sessionOf(ask(n+1, enter(session))).Session != 0)
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

// TestRequestsOfAConnectionAreServedInOrder checks that a task's read sees another task's write that is still pending
// on the same connection.
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

// TestServersAnswerAnythingWithoutHarm checks that a request that is cut short, or that ZooKeeper does not know, gets
// an error, and that bytes that are not a request close the connection.
func TestServersAnswerAnythingWithoutHarm(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.AddClient("client-1", 0, func(env sim.Env) {
		ask := func(conn int, args ...string) *sim.Reply {
			to := sim.Conn{Server: "zookeeper-1", N: conn}
			return &env.Call(time.Second, nil, sim.Request{Conn: to, Args: args})[0]
		}
		say := func(conn int, args ...string) {
			if a, ok := zookeeper.ReadAnswer(ask(conn, args...)); ok {
				s.say("%s: %s", args[0], string(a.Code))
			} else {
				s.say("%s: closed", args[0])
			}
		}
		say(0, "ping") // there is no session yet
		for n := range 3 {
			ask(n, enter(jute.ConnectRequest{})...)
		}
		say(0, request(jute.Exists, nil)...)
		say(0, request(jute.Create, jute.Record(nil).Text("/a"))...)
		say(0, request(jute.Create, openACL(jute.Record(nil).Text("/b").Text("")).Int(99))...)
		say(0, request(jute.SetWatches, jute.Record(nil).Long(1))...)
		say(0, request(jute.GetData, jute.Record(nil).Text("/none").Flag(true))...)
		say(0, request(99, nil)...)
		say(0, request(jute.Ping, nil)...) // the connection has been closed
		say(1, "ping", "")
		say(2, zookeeper.ReqTorn)
		s.say("%d", sessionOf(ask(3, enter(jute.ConnectRequest{Session: 77, Password: "wrong"})...)).Session)
	})
	s.run(time.Minute)
	want(t, s.report, "0.0 ping: closed", "0.0 exists: MARSHALLINGERROR", "0.0 create: MARSHALLINGERROR",
		"0.0 create: BADARGUMENTS", "0.0 setWatches: MARSHALLINGERROR", "0.0 getData: NONODE",
		"0.0 unknown: UNIMPLEMENTED", "0.0 ping: closed", "0.0 ping: closed", "0.0 no-frame: closed", "0.0 0")
}

// request returns a request with the given fields, as a modeled client would send it.
func request(op jute.Op, fields jute.Record) []string {
	return []string{op.String(), string(append(jute.Head(1, op), fields...))}
}

// enter returns a request that starts or continues a session.
func enter(r jute.ConnectRequest) []string {
	r.Timeout = 6000
	return []string{zookeeper.ReqEnter, string(r.Record())}
}

// sessionOf decodes a reply that confirms a session, and returns the request that continues it. The session ID is 0 if
// the session has ended or the connection is closed.
func sessionOf(r *sim.Reply) (c jute.ConnectRequest) {
	record, _, whole, _ := jute.Cut(r.Raw())
	if !whole {
		return c
	}
	f := jute.Fields{Rest: record}
	f.Int() // skips the protocol version
	f.Int() // skips the timeout
	return jute.ConnectRequest{Session: f.Long(), Password: f.Text()}
}

// openACL appends an access list that gives all clients all permissions.
func openACL(r jute.Record) jute.Record { return r.Int(1).Int(jute.All).Text("world").Text("anyone") }
