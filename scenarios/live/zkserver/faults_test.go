//go:build linux

package zkserver

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// watched makes a client wait until it is notified that a znode has vanished. It returns the records made until then.
func (c *client) watched(path string) []history.Event {
	c.mustAsk("", jute.Exists, jute.Record(nil).Text(path).Flag(true))
	data, _ := c.Receive(sim.Conn{Server: c.server, N: c.n}, time.Minute)
	if e, ok := zookeeper.ReadEvent(data); !ok || e != (zookeeper.Event{Type: zookeeper.NodeDeleted, Path: path}) {
		c.t.Errorf("it was pushed %v", e)
	}
	return recorded(c.w)
}

// lasting makes the second client request lock a and then stop sending anything. The first client watches that request.
// After calling strike, lasting waits until the znode vanishes. It returns the records, and the times at which the
// znode was created and vanished.
func lasting(r *rig, strike func()) (list []history.Event, made, ended time.Duration) {
	var path string
	there := &sim.Signal{}
	r.play(func(c *client) {
		c.connect(20000)
		c.folder("a")
		c.Sleep(sim.Forever, there)
		strike()
		list = c.watched(path)
		ended = c.Monotonic()
	}, func(c *client) {
		c.server = r.members[len(r.members)-1]
		c.connect(6000)
		for path == "" {
			a := c.mustAsk("client-2/1", jute.Create2, request())
			path = a.Text()
		}
		made = c.Monotonic()
		c.Close(sim.Conn{Server: c.server, N: c.n})
		there.Raise()
	})
	return list, made, ended
}

// TestASessionExpires checks that a silent client's lock request vanishes when the leader expires its session. This
// must be recorded before the client that is watching the request is notified.
func TestASessionExpires(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Undisturbed(t, func(t testing.TB) {
		list, made, ended := lasting(start(t, 3), func() {})
		equal(t, linesOf(list), []string{"key-set a/lock-0000000000 of client-2/1",
			"key-gone a/lock-0000000000 of client-2/1"})
		if len(list) == 2 && (list[0].Until.Duration() > made+6*time.Second || list[1].Time < list[0].Until ||
			list[1].Time.Duration() > ended) {
			t.Errorf("made at %v, due at %v, gone at %v, heard of at %v", made, list[0].Until, list[1].Time, ended)
		}
	})
}

// TestAFaultEndsASession checks that a fault can end a session before it expires, with the same effects as an expiry.
func TestAFaultEndsASession(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Undisturbed(t, func(t testing.TB) {
		r := start(t, 3)
		list, _, _ := lasting(r, func() {
			for _, m := range r.members {
				r.w.ServerFault(m, sim.ServerFault{Kind: sim.ExpireSession, To: "client-2", Begin: true})
			}
		})
		equal(t, linesOf(list), []string{"key-set a/lock-0000000000 of client-2/1",
			"key-gone a/lock-0000000000 of client-2/1"})
		if len(list) == 2 && list[1].Time >= list[0].Until {
			t.Errorf("it ended at %v, and was due to at %v", list[1].Time, list[0].Until)
		}
	})
}

// TestALeaderThatIsCutOff checks that another member becomes leader, that the old leader's committed writes persist,
// and that the old leader closes its clients' connections.
func TestALeaderThatIsCutOff(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Undisturbed(t, func(t testing.TB) {
		r := start(t, 3)
		list := r.play(func(c *client) {
			c.connect(20000)
			c.folder("a")
			c.mustAsk("client-1/1", jute.Create2, request())
			for _, m := range r.members[1:] {
				r.w.Cut(r.members[0], m)
				r.w.Cut(m, r.members[0])
			}
			if a, ok := c.ask("client-1/2", jute.Create2, create("/locks/a/lock-", "", jute.PersistentSequential)); ok {
				t.Errorf("the member that is cut off answered %v", a)
			}
			c.server = r.members[1]
			c.connect(20000)
			c.mustAsk("client-1/3", jute.Create2, request())
			for _, m := range r.members[1:] {
				r.w.Heal(r.members[0], m)
				r.w.Heal(m, r.members[0])
			}
			c.server = r.members[0]
			c.connect(20000)
			c.mustAsk("", jute.Sync, jute.Record(nil).Text("/"))
			if list := c.children("/locks/a"); len(list) != 2 {
				t.Errorf("there stand %q", list)
			}
		})
		equal(t, linesOf(list), []string{"key-set a/lock-0000000000 of client-1/1",
			"key-set a/lock-0000000001 of client-1/3"})
	})
}

// TestAMemberComesBack checks that a member that restarts with its disk has its data, and that one that restarts
// without its disk does not serve any requests.
func TestAMemberComesBack(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Undisturbed(t, func(t testing.TB) {
		r := start(t, 3)
		r.play(func(c *client) {
			c.server = r.members[2]
			c.connect(20000)
			c.folder("a")
			for _, how := range []sim.Stop{sim.ShutDown, sim.PowerLoss} {
				c.mustAsk("client-1/1", jute.Create2, create("/locks/a/lock-", "", jute.PersistentSequential))
				r.w.Stop(c.server, how)
				r.w.Restart(c.server)
				c.n++
				c.connect(20000)
			}
			if list := c.children("/locks/a"); len(list) != 2 {
				t.Errorf("there stand %q", list)
			}
			r.w.Stop(c.server, sim.LoseAllState)
			r.w.Restart(c.server)
			c.n++
			a := c.Call(time.Minute, nil, sim.Request{Conn: sim.Conn{Server: c.server, N: c.n}, Phase: "last",
				Args: c.session(0, 6000)})
			if got := string(a[0].Raw()); got != raft.Unavailable {
				t.Errorf("a member without its disk says %q", got)
			}
		})
	})
}

// TestAPausedMemberAnswersLater checks that a pause stops the process, and that requests sent during the pause are
// answered after it.
func TestAPausedMemberAnswersLater(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Undisturbed(t, func(t testing.TB) {
		r := start(t, 1)
		r.play(func(c *client) {
			c.connect(20000)
			r.w.Pause(c.server)
			from := c.Monotonic()
			r.w.At(r.w.Now()+history.Of(time.Second), func() { r.w.Resume(c.server) })
			if a := c.mustAsk("", jute.Create2, create("/a", "", jute.Persistent)); a.Code != "" ||
				c.Monotonic() < from+time.Second {
				t.Errorf("it answered %v after %v", a, c.Monotonic()-from)
			}
		})
	})
}

// TestAWallClockJumps checks that the process sees the jump, and that sessions are not affected.
func TestAWallClockJumps(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Undisturbed(t, func(t testing.TB) {
		r := start(t, 1, nemesis.Fault{Kind: nemesis.Jump, Target: "zookeeper-1", By: time.Hour})
		r.play(func(c *client) {
			session := zookeeper.SessionID(c.connect(4000))
			r.w.Jump(c.server, time.Hour)
			for end := c.Monotonic() + 7*time.Second; c.Monotonic() < end; c.Sleep(time.Second) {
				c.mustAsk("", jute.Ping, nil)
			}
			a := c.mustAsk("", jute.Create2, create("/a", "", jute.Ephemeral))
			a.Text() // skip the path
			if s := zookeeper.ReadStat(&a.Fields); s.EphemeralOwner != session {
				t.Errorf("after the jump, the owner is %d, not %d", s.EphemeralOwner, session)
			}
			if ahead := time.Until(r.made("/a")); ahead < 59*time.Minute || ahead > 61*time.Minute {
				t.Errorf("its clock is %v ahead", ahead)
			}
		})
	})
}

// made returns the time, by the first member's clock, at which a znode was created.
func (r *rig) made(path string) time.Time {
	conn, err := net.Dial("tcp", r.ensemble.members[0].address())
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	_, err = r.ensemble.enter(conn, 0, "")
	if err == nil {
		_, err = conn.Write(jute.Head(1, jute.Exists).Text(path).Flag(false).Framed())
	}
	f, failed := jute.ReadFrame(conn)
	if err := errors.Join(err, failed); err != nil {
		r.t.Fatal(err)
	}
	f.Int()
	f.Long()
	f.Int()
	f.Long() // skip the czxid
	f.Long() // skip the mzxid
	return time.UnixMilli(f.Long())
}

// TestAMemberThatDiesByItself checks that the run fails if a member dies on its own, with an error that says how the
// member ended.
func TestAMemberThatDiesByItself(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Undisturbed(t, func(t testing.TB) {
		r := start(t, 1)
		died := func() bool { return r.l.Err() != nil }
		r.ensemble.members[0].Daemon.Kill()
		if r.l.Run(history.Of(time.Minute), died); r.l.Err() == nil ||
			!strings.Contains(r.l.Err().Error(), "zookeeper-1: java ended by itself: it was ended by signal 9") {
			t.Errorf("the run goes on: %v", r.l.Err())
		}
	})
}
