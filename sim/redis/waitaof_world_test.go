package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// With appendfsync everysec, a WAITAOF lasts until the next fsync has ended. That fsync begins a second after the
// previous one. A slow fsync makes the wait longer. Meanwhile, other connections are served.
func TestWaitForAnFsyncEndsWithIt(t *testing.T) {
	c := newCluster(t, redis.Config{Version: redis.Redis8, Persistence: store.Everysec, FsyncTime: 10 * ms}, 0)
	c.client("client-1", 3500*ms, func(s *session) {
		s.do(master, "SET lock a")
		s.do(master, "WAITAOF 1 0 0")
		s.do(master, "WAITAOF 1 0 0")
		s.do(master, "SET lock b")
		s.do(master, "WAITAOF 1 0 100")
		s.do(master, "WAITAOF 0 0 0")
		s.do(master, "WAITAOF 1 0 0")
		s.do(master, "SET lock c")
		s.do(master, "WAITAOF 1 0 0")
	})
	c.client("client-2", 3800*ms, func(s *session) {
		s.do(master, "GET lock")
		s.do(master, "WAITAOF 1 0 0") // nothing was written on this connection
	})
	c.at(5*time.Second, func() {
		c.ServerFault(master, sim.ServerFault{Kind: sim.SlowFsync, Begin: true, By: 700 * ms})
	})
	c.run(10 * time.Second)
	want(t, "said", c.said, "3.502s client-1 SET lock a: +OK", "3.512s client-1 WAITAOF 1 0 0: *2 :1 :0",
		"3.514s client-1 WAITAOF 1 0 0: *2 :1 :0", "3.516s client-1 SET lock b: +OK",
		"3.619s client-1 WAITAOF 1 0 100: *2 :0 :0", "3.621s client-1 WAITAOF 0 0 0: *2 :0 :0",
		"3.802s client-2 GET lock: $1 b", "3.804s client-2 WAITAOF 1 0 0: *2 :1 :0",
		"4.512s client-1 WAITAOF 1 0 0: *2 :1 :0", "4.514s client-1 SET lock c: +OK",
		"6.212s client-1 WAITAOF 1 0 0: *2 :1 :0")
}

// If WAITAOF has waited for a write, the write survives a power loss. WAIT does not ensure this, since replicas also
// acknowledge writes that are not on disk.
func TestWritesThatWereWaitedForSurviveALossOfPower(t *testing.T) {
	for _, play := range []struct{ wait, said, kept string }{
		{"WAITAOF 0 0 0", "3.006s client-1 WAITAOF 0 0 0: *2 :0 :0", "$-1"},
		{"WAIT 1 0", "3.008s client-1 WAIT 1 0: :1", "$-1"},
		{"WAITAOF 1 0 0", "4.012s client-1 WAITAOF 1 0 0: *2 :1 :0", "$1 a"},
	} {
		c := newCluster(t, redis.Config{Version: redis.Redis8, Persistence: store.Everysec, FsyncTime: 10 * ms}, 1)
		c.client("client-1", 3000*ms, func(s *session) {
			s.ask(master, 0, "SET", "other", "x") // its fsync begins at once
			s.ask(master, 0, "SET", "lock", "a")
			s.do(master, play.wait)
			c.Stop(master, sim.PowerLoss)
			c.Restart(master)
			s.say("%s", s.ask(master, 1, "GET", "lock"))
		})
		c.run(10 * time.Second)
		if len(c.said) != 2 || c.said[0] != play.said || !strings.HasSuffix(c.said[1], " "+play.kept) {
			t.Errorf("after %s: %q, want the value %s", play.wait, c.said, play.kept)
		}
	}
}

// A replica reports what is on its disk once a second, and when its master asks. If the fsync takes place after the
// master has asked, the master therefore learns about it up to a second later. Without fsyncs, the master never learns
// that anything is on the replica's disk.
func TestReplicasAcknowledgeWhatIsOnTheirDisks(t *testing.T) {
	for policy, said := range map[store.Policy][]string{
		store.None: {"3.002s client-1 SET lock a: +OK", "6.005s client-1 WAITAOF 0 2 3000: *2 :0 :0",
			"6.007s client-1 SET lock b: +OK", "9.01s client-1 WAITAOF 0 1 3000: *2 :0 :0",
			"9.012s client-1 WAIT 2 0: :2"},
		store.Always: {"3.012s client-1 SET lock a: +OK", "3.024s client-1 WAITAOF 0 2 3000: *2 :1 :2",
			"3.036s client-1 SET lock b: +OK", "3.048s client-1 WAITAOF 0 1 3000: *2 :1 :1",
			"3.05s client-1 WAIT 2 0: :2"},
		store.Everysec: {"3.002s client-1 SET lock a: +OK", "3.948387719s client-1 WAITAOF 0 2 3000: *2 :1 :2",
			"3.950387719s client-1 SET lock b: +OK", "4.191448605s client-1 WAITAOF 0 1 3000: *2 :1 :1",
			"4.193448605s client-1 WAIT 2 0: :2"},
		store.No: {"3.002s client-1 SET lock a: +OK", "6.005s client-1 WAITAOF 0 2 3000: *2 :0 :0",
			"6.007s client-1 SET lock b: +OK", "9.01s client-1 WAITAOF 0 1 3000: *2 :0 :0",
			"9.012s client-1 WAIT 2 0: :2"},
	} {
		c := newCluster(t, redis.Config{Version: redis.Redis8, Persistence: policy, FsyncTime: 10 * ms}, 2)
		c.client("client-1", 3000*ms, func(s *session) {
			s.do(master, "SET lock a")
			s.do(master, "WAITAOF 0 2 3000")
			s.do(master, "SET lock b")
			s.do(master, "WAITAOF 0 1 3000")
			s.do(master, "WAIT 2 0")
		})
		c.run(20 * time.Second)
		want(t, policy.String(), c.said, said...)
	}
}
