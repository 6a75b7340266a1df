package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// quick configures a Sentinel that considers a master down after three seconds.
var quick = redis.SentinelConfig{DownAfter: 3 * time.Second}

// fourLooks is more time than a Sentinel needs to begin an ordered failover, choose a replica, and make it the master.
const fourLooks = 400 * ms

func TestFailoverLosesALockThatHadNotReachedTheReplica(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1).watch(quick)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET old x PX 60000")
		c.Cut(master, replica1)
		s.do(master, "SET lock a NX PX 60000")
		c.Stop(master, sim.LoseAllState)
	})
	c.client("client-2", 8*time.Second, func(s *session) {
		s.do(observer, "SENTINEL GET-MASTER-ADDR-BY-NAME redis-1")
		s.do(replica1, "GET old")
		s.do(replica1, "SET lock b NX PX 60000")
	})
	records := c.run(10 * time.Second)
	want(t, "said", c.said, "2ms client-1 SET old x PX 60000: +OK", "4ms client-1 SET lock a NX PX 60000: +OK",
		"8.002s client-2 SENTINEL GET-MASTER-ADDR-BY-NAME redis-1: *2 $17 redis-1-replica-1 $4 6379",
		"8.004s client-2 GET old: $1 x", "8.006s client-2 SET lock b NX PX 60000: +OK")
	want(t, "records", records, "redis-1: old set of client-1/1 by client-1/1",
		"redis-1: lock set of client-1/1 by client-1/1",
		"redis-1-replica-1: lock gone of client-1/1, lost in failover",
		"redis-1-replica-1: lock set of client-2/1 by client-2/1")
}

func TestLockThatAReplicaAcknowledgedOutlivesTheFailover(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1).watch(quick)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a NX PX 60000")
		s.do(master, "WAIT 1 1000")
		c.Stop(master, sim.LoseAllState)
	})
	c.client("client-2", 8*time.Second, func(s *session) { s.do(replica1, "SET lock b NX PX 60000") })
	records := c.run(10 * time.Second)
	want(t, "said", c.said, "2ms client-1 SET lock a NX PX 60000: +OK", "6ms client-1 WAIT 1 1000: :1",
		"8.002s client-2 SET lock b NX PX 60000: $-1")
	want(t, "records", records, "redis-1: lock set of client-1/1 by client-1/1")
}

func TestWaitThatReturnsZeroPromisesNothing(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1).watch(quick)
	c.Cut(master, replica1)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a NX PX 60000")
		s.do(master, "WAIT 1 500")
		c.failOver(replica1)
		s.Sleep(fourLooks)
		s.do(replica1, "SET lock b NX PX 60000")
	})
	records := c.run(5 * time.Second)
	want(t, "said", untimed(c.said), "client-1 SET lock a NX PX 60000: +OK", "client-1 WAIT 1 500: :0",
		"client-1 SET lock b NX PX 60000: +OK")
	want(t, "records", records, "redis-1: lock set of client-1/1 by client-1/1",
		"redis-1-replica-1: lock gone of client-1/1, lost in failover",
		"redis-1-replica-1: lock set of client-1/1 by client-1/1")
}

func TestFailoverInsideWait(t *testing.T) {
	t.Run("of a master that dies", func(t *testing.T) {
		c := newCluster(t, redis.Config{}, 1).watch(quick)
		c.Cut(master, replica1)
		c.client("client-1", 0, func(s *session) {
			s.do(master, "SET lock a NX PX 60000")
			s.do(master, "WAIT 1 0")
		})
		c.at(time.Second, func() { c.Stop(master, sim.PowerLoss); c.failOver(replica1) })
		c.run(20 * time.Second)
		want(t, "said", c.said, "2ms client-1 SET lock a NX PX 60000: +OK", "10.002s client-1 WAIT 1 0: no reply")
	})
	t.Run("of one that is made a replica", func(t *testing.T) {
		c := newCluster(t, redis.Config{}, 1)
		c.watch(redis.SentinelConfig{ReconfigureAfter: -1})
		c.Cut(master, replica1)
		c.client("client-1", 0, func(s *session) {
			s.do(master, "SET lock a NX PX 60000")
			s.do(master, "WAIT 1 0")
			s.do(master, "GET lock")
		})
		c.at(500*ms, func() { c.failOver(replica1) })
		c.at(3*time.Second, func() { c.Heal(master, replica1) })
		c.run(20 * time.Second)
		want(t, "said", untimed(c.said), "client-1 SET lock a NX PX 60000: +OK",
			// The Sentinel makes the node disconnect all clients.
			"client-1 WAIT 1 0: reset", "client-1 GET lock: $1 a")
	})
}

func TestAnotherReplicaThanTheOneThatAcknowledgedIsPromoted(t *testing.T) {
	c := newCluster(t, redis.Config{}, 2).watch(quick)
	c.Cut(master, replica2)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a NX PX 60000")
		s.do(master, "WAIT 1 1000")
		c.failOver(replica2)
		s.Sleep(2 * time.Second)
		s.do(replica2, "SET lock b NX PX 60000")
		s.do(replica1, "GET lock")
	})
	records := c.run(5 * time.Second)
	want(t, "said", c.said, "2ms client-1 SET lock a NX PX 60000: +OK", "6ms client-1 WAIT 1 1000: :1",
		"2.008s client-1 SET lock b NX PX 60000: +OK", "2.01s client-1 GET lock: $1 b")
	want(t, "records", records, "redis-1: lock set of client-1/1 by client-1/1",
		"redis-1-replica-2: lock gone of client-1/1, lost in failover",
		"redis-1-replica-1: lock gone of client-1/1, lost in failover", // replaced by its new master's data
		"redis-1-replica-2: lock set of client-1/1 by client-1/1")
}

func TestWaitAsLongAsTheTTLReturnsWhenTheLockIsGone(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1)
	c.Cut(master, replica1)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a NX EX 5")
		s.do(master, "WAIT 1 5000")
		s.do(master, "GET lock")
	})
	c.run(20 * time.Second)
	want(t, "said", c.said, "2ms client-1 SET lock a NX EX 5: +OK", "5.005s client-1 WAIT 1 5000: :0",
		"5.007s client-1 GET lock: $-1")
}

func TestFailoverLosesARelease(t *testing.T) {
	c := newCluster(t, redis.Config{Version: redis.Tair}, 1).watch(quick)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a NX PX 8000")
		s.do(master, "WAIT 1 1000")
		c.Cut(master, replica1)
		s.do(master, "CAD lock a")
		c.Stop(master, sim.PowerLoss)
		c.failOver(replica1)
		s.Sleep(time.Second)
		s.do(replica1, "SET lock b NX PX 8000")
		s.Sleep(7 * time.Second)
		s.do(replica1, "SET lock b NX PX 8000")
	})
	records := c.run(9 * time.Second)
	want(t, "said", c.said[2:], "8ms client-1 CAD lock a: :1", "1.01s client-1 SET lock b NX PX 8000: $-1",
		"8.012s client-1 SET lock b NX PX 8000: +OK")
	want(t, "records", records, "redis-1: lock set of client-1/1 by client-1/1",
		"redis-1: lock gone of client-1/1, deleted client-1/1",
		"redis-1-replica-1: lock set of client-1/1 by", "redis-1-replica-1: lock gone of client-1/1, expired",
		"redis-1-replica-1: lock set of client-1/1 by client-1/1")
}

func TestOldMasterServesThoseWhoReachItAndThenDropsItsWrites(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1).watch(quick)
	var switches []string
	c.group.Promoted = func(old, promoted sim.ProcessID) { switches = append(switches, string(old+" "+promoted)) }
	c.client("client-1", 0, func(s *session) { s.do(master, "SET both x PX 60000") })
	c.at(time.Second, func() { c.cut(master, replica1, observer) })
	c.client("client-2", 9*time.Second, func(s *session) { s.do(replica1, "SET lock b NX PX 90000") })
	c.client("client-3", 10*time.Second, func(s *session) { s.do(master, "SET lock a NX PX 90000") })
	c.at(12*time.Second, func() { c.heal(master, replica1, observer) })
	c.client("client-4", 19*time.Second, func(s *session) {
		s.do(master, "GET lock")
		s.Sleep(5 * time.Second)
		s.do(master, "GET lock")
		s.do(master, "DEL lock")
	})
	records := c.run(30 * time.Second)
	want(t, "said", c.said, "2ms client-1 SET both x PX 60000: +OK", "9.002s client-2 SET lock b NX PX 90000: +OK",
		"10.002s client-3 SET lock a NX PX 90000: +OK", "19.002s client-4 GET lock: $1 a",
		"24.006s client-4 GET lock: $1 b",
		"24.008s client-4 DEL lock: -READONLY You can't write against a read only replica.")
	want(t, "records", records, "redis-1: both set of client-1/1 by client-1/1",
		"redis-1-replica-1: lock set of client-2/1 by client-2/1",
		"redis-1: lock set of client-3/1 by client-3/1", "redis-1: lock gone of client-3/1, lost in failover")
	want(t, "switches", switches, "redis-1 redis-1-replica-1")
	if a, b := c.keys(master), c.keys(replica1); a != b || a != "both=x(client-1/1) lock=b(client-2/1)" {
		t.Errorf("the old master has %s, the new one %s", a, b)
	}
}

// TestDeposedMasterIsReinstated checks a failover that makes a deposed master the master again before it has started
// following the new master. The node must then have its own data, and none that was sent to the other master.
func TestDeposedMasterIsReinstated(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1).watch(redis.SentinelConfig{ReconfigureAfter: time.Minute})
	var switches []string
	c.group.Promoted = func(old, promoted sim.ProcessID) { switches = append(switches, string(old+" "+promoted)) }
	c.client("client-1", 0, func(s *session) { s.do(master, "SET both x PX 60000") })
	c.at(time.Second, func() { c.failOver(replica1) })
	c.client("client-2", 5*time.Second, func(s *session) { s.do(replica1, "SET lock b NX PX 60000") })
	c.client("client-3", 6*time.Second, func(s *session) { s.do(master, "SET old a NX PX 60000") })
	c.at(7*time.Second, func() { c.failOver(master) })
	c.client("client-4", 11*time.Second, func(s *session) {
		s.do(observer, who)
		s.do(master, "GET lock")
		s.do(master, "GET old")
	})
	records := c.run(12 * time.Second)
	want(t, "said", c.said[3:], "11.002s client-4 "+who+": *2 $7 redis-1 $4 6379", "11.004s client-4 GET lock: $-1",
		"11.006s client-4 GET old: $1 a")
	want(t, "switches", switches, "redis-1 redis-1-replica-1", "redis-1-replica-1 redis-1")
	want(t, "records", records, "redis-1: both set of client-1/1 by client-1/1",
		"redis-1-replica-1: lock set of client-2/1 by client-2/1", "redis-1: old set of client-3/1 by client-3/1",
		"redis-1: lock gone of client-2/1, lost in failover", "redis-1: old set of client-3/1 by")
}

func TestRestartedOldMasterComesBackAsAMaster(t *testing.T) {
	c := newCluster(t, redis.Config{Persistence: store.Always}, 1).watch(quick)
	c.client("client-1", 0, func(s *session) {
		c.Cut(master, replica1)
		s.do(master, "SET lock a NX PX 60000")
		c.Stop(master, sim.PowerLoss)
		s.Sleep(8 * time.Second)
		c.Heal(master, replica1)
		c.Restart(master)
		s.do(master, "GET lock")
		s.do(master, "SET stale x")
		s.Sleep(15 * time.Second)
		s.do(master, "GET lock")
	})
	records := c.run(30 * time.Second)
	want(t, "said", c.said[1:], "8.004s client-1 GET lock: reset", "8.008s client-1 SET stale x: +OK",
		"23.012s client-1 GET lock: $-1")
	want(t, "records", records, "redis-1: lock set of client-1/1 by client-1/1",
		"redis-1-replica-1: lock gone of client-1/1, lost in failover",
		"redis-1: stale set of client-1/1 by client-1/1",
		"redis-1: lock gone of client-1/1, lost in failover", "redis-1: stale gone of client-1/1, lost in failover")
}

func TestMasterWithoutPersistenceComesBackEmptyAndEmptiesItsReplicas(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a NX PX 60000")
		s.do(master, "WAIT 1 0")
		c.Stop(master, sim.LoseAllState)
		c.Restart(master)
		s.Sleep(2 * time.Second)
		s.do(replica1, "GET lock")
	})
	records := c.run(5 * time.Second)
	want(t, "said", c.said[2:], "2.008s client-1 GET lock: $-1")
	want(t, "records", records, "redis-1: lock set of client-1/1 by client-1/1",
		"redis-1: lock gone of client-1/1, lost in crash (no persistence)",
		"redis-1-replica-1: lock gone of client-1/1, lost in crash (no persistence)")
}

func TestRestartedReplicaTakesAllFromItsMaster(t *testing.T) {
	c := newCluster(t, redis.Config{Persistence: store.Always}, 1)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a NX PX 60000")
		s.do(master, "RPUSH list x y")
		s.do(master, "ZADD zset 2.5 m 1 n")
		s.do(master, "HSET hash f v")
		s.do(master, "PEXPIRE hash 60000")
		s.do(master, "SADD set p q")
		s.Sleep(10 * ms)
		c.Stop(replica1, sim.PowerLoss)
		s.do(master, "DEL lock")
		s.do(master, "INCR counter")
		c.Restart(replica1)
		s.do(master, "INCR counter")
	})
	records := c.run(3 * time.Second)
	if a, b := c.keys(master), c.keys(replica1); a != b || !strings.HasPrefix(a, "counter=2(client-1/1) hash.f=") {
		t.Errorf("the master has %s\nits replica %s", a, b)
	}
	for _, r := range records {
		if !strings.HasPrefix(r, "redis-1: ") {
			t.Errorf("a replica whose keys had been deleted in good order recorded %s", r)
		}
	}
}

func TestFailoverWithoutASentinel(t *testing.T) {
	c := newCluster(t, redis.Config{}, 2)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a NX PX 60000")
		s.Sleep(10 * ms)
		for _, name := range c.names {
			c.ServerFault(name, sim.ServerFault{Kind: sim.FailOver, To: replica2})
		}
		s.Sleep(10 * ms)
		s.do(master, "ROLE")
		s.do(replica2, "SET lock b XX PX 60000")
		s.do(replica2, "WAIT 2 1000")
		s.do(replica1, "GET lock")
	})
	c.run(5 * time.Second)
	want(t, "said", c.said[1:], "24ms client-1 ROLE: *5 $5 slave $17 redis-1-replica-2 :6379 $9 connected :1",
		"26ms client-1 SET lock b XX PX 60000: +OK", "30ms client-1 WAIT 2 1000: :2", "32ms client-1 GET lock: $1 b")
}
