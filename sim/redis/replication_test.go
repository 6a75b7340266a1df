package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

func TestWait(t *testing.T) {
	c := newCluster(t, redis.Config{Version: redis.Redis8}, 2) // a version in which scripts may call WAIT
	c.Cut(master, replica2)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "WAIT 2 0") // the client has written nothing, so all online replicas count
		s.do(master, "SET lock a")
		s.do(master, "WAIT 0 0")
		s.do(master, "WAIT 1 0")
		s.do(master, "GET lock")
		s.do(master, "WAIT 1 0") // a read changes nothing
		s.do(master, "WAIT 2 100")
		s.do(master, "SET lock b")
		s.do(master, "MULTI")
		s.do(master, "SET lock c")
		s.do(master, "WAIT 2 0")
		// WAIT counts the replicas that have acknowledged "SET lock b", the last write before MULTI. None has been
		// asked to do so yet.
		s.do(master, "EXEC")
		s.say("%s", s.ask(master, 0, "EVAL", "redis.call('set', 'lock', 'd') return redis.call('wait', 2, 0)", "0"))
		s.do(master, "WAIT x 0")
		s.do(master, "WAIT 1 x")
		s.do(master, "WAIT 1 -1")
		s.do(replica1, "WAIT 0 0")
		s.do(replica1, "WAIT x 0")
	})
	// WAIT does not wait for other clients' writes.
	c.client("client-2", time.Second, func(s *session) { s.do(master, "WAIT 1 0") })
	c.run(5 * time.Second)
	const onReplica = "-ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a " +
		"replica is configured to be writable (which is not the default) writes to replicas are just local and are " +
		"not propagated."
	want(t, "said", c.said, "2ms client-1 WAIT 2 0: :2", "4ms client-1 SET lock a: +OK", "6ms client-1 WAIT 0 0: :0",
		"10ms client-1 WAIT 1 0: :1", "12ms client-1 GET lock: $1 a", "14ms client-1 WAIT 1 0: :1",
		"117ms client-1 WAIT 2 100: :1",
		"119ms client-1 SET lock b: +OK", "121ms client-1 MULTI: +OK", "123ms client-1 SET lock c: +QUEUED",
		"125ms client-1 WAIT 2 0: +QUEUED", "127ms client-1 EXEC: *2 +OK :0", "129ms client-1 :2",
		"131ms client-1 WAIT x 0: -ERR value is not an integer or out of range",
		"133ms client-1 WAIT 1 x: -ERR timeout is not an integer or out of range",
		"135ms client-1 WAIT 1 -1: -ERR timeout is negative",
		"137ms client-1 WAIT 0 0: "+onReplica, "139ms client-1 WAIT x 0: "+onReplica, "1.002s client-2 WAIT 1 0: :2")
}

func TestRequestsBehindAWaitWaitAndOtherConnectionsGoOn(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1)
	c.Cut(master, replica1)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a")
		for _, args := range [][]string{{"WAIT", "1", "1000"}, {"SET", "lock", "b"}, {"WAIT", "1", "0"},
			{"GET", "lock"}} {
			s.Go("pipelined", func(env sim.Env) { (&session{env, c, s.attempt}).do(master, strings.Join(args, " ")) })
		}
		s.Sleep(10 * ms)
		s.say("another connection: %s", s.ask(master, 1, "GET", "lock"))
	})
	c.at(3*time.Second, func() { c.Heal(master, replica1) })
	c.run(8 * time.Second)
	want(t, "said", c.said, "2ms client-1 SET lock a: +OK", "14ms client-1 another connection: $1 a",
		"1.005s client-1 WAIT 1 1000: :0", "1.005s client-1 SET lock b: +OK", "3.003s client-1 WAIT 1 0: :1",
		"3.003s client-1 GET lock: $1 b")
}

func TestWaitOfAMasterWithoutReplicasLastsToItsEnd(t *testing.T) {
	c := newCluster(t, redis.Config{}, 0)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a")
		s.do(master, "WAIT 0 0")
		s.do(master, "WAIT 1 100")
		s.do(master, "WAIT 1 0")
	})
	c.run(30 * time.Second)
	want(t, "said", c.said, "2ms client-1 SET lock a: +OK", "4ms client-1 WAIT 0 0: :0",
		"107ms client-1 WAIT 1 100: :0", "10.107s client-1 WAIT 1 0: no reply")
}

func TestWaitCountsOnTheWallClock(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1)
	c.Cut(master, replica1)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a")
		s.do(master, "WAIT 1 5000")
	})
	c.at(time.Second, func() { c.Jump(master, 3*time.Second) })
	c.run(30 * time.Second)
	want(t, "said", c.said, "2ms client-1 SET lock a: +OK", "2.005s client-1 WAIT 1 5000: :0")
}

func TestSemiSynchronousReplyWaitsForOneReplica(t *testing.T) {
	c := newCluster(t, redis.Config{SemiSync: true}, 2).watch(quick)
	c.Cut(master, replica2)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a NX PX 60000")
		s.do(master, "SET lock a NX PX 60000")
		c.Stop(master, sim.LoseAllState)
		s.Sleep(8 * time.Second)
		s.do(replica1, "GET lock")
	})
	c.run(20 * time.Second)
	want(t, "said", c.said, "4ms client-1 SET lock a NX PX 60000: +OK", "6ms client-1 SET lock a NX PX 60000: $-1",
		"8.008s client-1 GET lock: $1 a")
}

func TestSemiSynchronousReplicationFallsBackAndReturns(t *testing.T) {
	c := newCluster(t, redis.Config{SemiSync: true}, 1)
	c.at(time.Second, func() { c.Slow(master, replica1, 3*time.Second) })
	c.client("client-1", 1500*ms, func(s *session) {
		s.say("degraded %v", c.nodes[master].Degraded())
		s.Go("other", func(env sim.Env) {
			env.Sleep(500 * ms)
			s.say("other connection: %s", (&session{env, c, s.attempt}).ask(master, 1, "SET", "other", "x"))
		})
		s.do(master, "SET lock a")
		s.say("degraded %v", c.nodes[master].Degraded())
		s.do(master, "SET lock b")
		s.Sleep(10 * time.Second)
		c.Slow(master, replica1, -3*time.Second)
		s.say("degraded %v", c.nodes[master].Degraded())
		s.do(master, "SET lock c")
	})
	c.run(30 * time.Second)
	want(t, "said", c.said, "1.5s client-1 degraded false", "2.502s client-1 SET lock a: +OK",
		"2.502s client-1 degraded true",
		"2.502s client-1 other connection: +OK", "2.504s client-1 SET lock b: +OK", "12.504s client-1 degraded false",
		"12.508s client-1 SET lock c: +OK")
}

func TestDegradedSemiSynchronousReplicationLosesALock(t *testing.T) {
	c := newCluster(t, redis.Config{SemiSync: true}, 1).watch(quick)
	c.Cut(master, replica1)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a NX PX 60000")
		c.Stop(master, sim.PowerLoss)
		s.Sleep(8 * time.Second)
		s.do(replica1, "SET lock b NX PX 60000")
	})
	records := c.run(20 * time.Second)
	want(t, "said", c.said, "1.002s client-1 SET lock a NX PX 60000: +OK",
		"10.004s client-1 SET lock b NX PX 60000: +OK")
	want(t, "records", records[1:2], "redis-1-replica-1: lock gone of client-1/1, lost in failover")
}

func TestIsolatedMasterAcceptsWritesForTheLag(t *testing.T) {
	c := newCluster(t, redis.Config{MinReplicasToWrite: 1}, 1)
	c.cut(master, replica1)
	c.client("client-1", 10*time.Second, func(s *session) {
		s.do(master, "SET lock a NX PX 60000")
		s.Sleep(2 * time.Second) // the master counts its replicas once a second
		s.do(master, "SET lock b XX")
		s.say("%s", s.ask(master, 0, "EVAL", "return redis.call('get', KEYS[1])", "1", "lock"))
		s.say("%s", s.ask(master, 0, "EVAL", releaseScript, "1", "lock", "a"))
		s.do(master, "MULTI")
		s.do(master, "DEL lock")
		s.do(master, "EXEC")
		c.heal(master, replica1)
		s.Sleep(time.Second)
		s.do(master, "DEL lock")
	})
	c.run(30 * time.Second)
	const refused = "NOREPLICAS Not enough good replicas to write."
	if len(c.said) != 8 || !strings.HasPrefix(c.said[3], "12.008s client-1 -"+refused) {
		t.Fatalf("said %q", c.said)
	}
	c.said[3] = ""
	want(t, "said", c.said, "10.002s client-1 SET lock a NX PX 60000: +OK", "12.004s client-1 SET lock b XX: -"+refused,
		"12.006s client-1 $1 a", "", "12.01s client-1 MULTI: +OK", "12.012s client-1 DEL lock: -"+refused,
		"12.014s client-1 EXEC: -EXECABORT Transaction discarded because of previous errors.",
		"13.016s client-1 DEL lock: :1")
}

// TestGoodReplicasAreCountedOnceASecond checks that when the master hears from its replica again, it may still refuse
// writes for up to a second, and that when the replica has been silent for too long, the master may still accept writes
// for up to a second.
func TestGoodReplicasAreCountedOnceASecond(t *testing.T) {
	stale := 0
	for seed := range uint64(50) {
		c := newSeeded(t, seed, redis.Config{MinReplicasToWrite: 1, MinReplicasMaxLag: 2 * time.Second}, 1)
		c.at(5*time.Second, func() { c.cut(master, replica1) })
		heard := 9*time.Second + 10*ms // when the acknowledgments that the cut delayed arrive
		c.at(heard-9*ms, func() { c.heal(master, replica1) })
		var from, until time.Duration // the period in which writes are refused
		c.client("client-1", 0, func(s *session) {
			for c.Now().Duration() < 12*time.Second {
				if strings.HasPrefix(s.ask(master, 0, "SET", "lock", "a"), "-NOREPLICAS") {
					until = c.Now().Duration()
					if from == 0 {
						from = until
					}
				}
				s.Sleep(10 * ms)
			}
		})
		c.run(15 * time.Second)
		// The master last heard from the replica between 4 s and 5 s. Three whole seconds later, the replica has been
		// silent for too long. The master notices this up to a second later.
		if from < 6*time.Second || from > 9*time.Second || until > heard+time.Second {
			t.Errorf("seed %d: refused from %v until %v", seed, from, until)
		}
		if until > heard {
			stale++
		}
	}
	if stale < 40 {
		t.Errorf("in %d of 50 runs a write was refused after the replica had been heard of", stale)
	}
}

const releaseScript = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`

func TestReplicaRefusesWritesOfClients(t *testing.T) {
	c := newCluster(t, redis.Config{Version: redis.Tair}, 1)
	const refused = "-READONLY You can't write against a read only replica."
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a")
		for _, command := range []string{"SET lock b", "DEL lock", "CAD lock a", "PEXPIRE lock 1", "INCR n",
			"HSET h f v", "SUNIONSTORE a b c", "BLPOP l 0", "FLUSHALL"} {
			if got := s.ask(replica1, 0, strings.Fields(command)...); got != refused {
				t.Errorf("%s: %s", command, got)
			}
		}
		if got := s.ask(replica1, 0, "EVAL", releaseScript, "1", "lock", "a"); !strings.HasPrefix(got, refused) {
			t.Errorf("the release script: %s", got)
		}
		s.do(replica1, "MULTI")
		s.do(replica1, "GET lock")
		s.do(replica1, "EXEC")
		s.do(replica1, "INFO replication")
		s.do(master, "INFO replication")
		s.do(master, "ROLE")
	})
	c.run(3 * time.Second)
	want(t, "said", c.said[1:4], "24ms client-1 MULTI: +OK", "26ms client-1 GET lock: +QUEUED",
		"28ms client-1 EXEC: *1 $1 a")
	if !strings.Contains(c.said[4],
		"role:slave master_host:redis-1 master_port:6379 master_link_status:up slave_repl_offset:1 ") ||
		!strings.Contains(c.said[5],
			"role:master connected_slaves:1 slave0:ip=redis-1-replica-1,port=6379,state=online,offset=0,lag=0") {
		t.Errorf("INFO: %s\n%s", c.said[4], c.said[5])
	}
	want(t, "role", c.said[6:], "34ms client-1 ROLE: *3 $6 master :1 *1 *3 $17 redis-1-replica-1 $4 6379 $1 0")
}

func TestReplicaHidesExpiredKeysAndWaitsForItsMasterToDeleteThem(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a PX 1000")
		s.do(master, "RPUSH list x")
		s.do(master, "PEXPIRE list 1000")
		s.Sleep(10 * ms)
		c.Jump(replica1, 5*time.Second)
		s.do(replica1, "GET lock")
		s.do(replica1, "EXISTS lock list")
		s.do(replica1, "KEYS *")
		s.do(replica1, "DBSIZE")
		s.do(replica1, "PTTL list")
		if got := c.keys(replica1); got != "list.x=(client-1/1) lock=a(client-1/1)" {
			t.Errorf("the replica has %s", got)
		}
		s.do(replica1, "TYPE list")
		s.do(master, "PEXPIRE list 60000") // the replica hides this key
		s.Sleep(10 * ms)
		s.do(replica1, "LRANGE list 0 -1")
		c.Jump(replica1, -5*time.Second)
		s.do(replica1, "GET lock")
		c.Pause(master)
		s.Sleep(3 * time.Second)
		s.do(replica1, "GET lock")
		s.do(replica1, "DBSIZE")
		c.Resume(master)
		s.Sleep(110 * ms) // the background cycle deletes the key
		s.do(replica1, "DBSIZE")
	})
	records := c.run(10 * time.Second)
	for i, line := range c.said[3:] {
		_, c.said[3+i], _ = strings.Cut(line, "client-1 ")
	}
	want(t, "said", c.said[3:], "GET lock: $-1", "EXISTS lock list: :0", "KEYS *: *0", "DBSIZE: :2", "PTTL list: :-2",
		"TYPE list: +none",
		"PEXPIRE list 60000: :1", "LRANGE list 0 -1: *1 $1 x", "GET lock: $1 a", "GET lock: $-1", "DBSIZE: :2",
		"DBSIZE: :1")
	for _, r := range records {
		if !strings.HasPrefix(r, "redis-1: ") {
			t.Errorf("the replica recorded %s", r)
		}
	}
}

func TestPromotedReplicaExpiresWhatItHid(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1).watch(quick)
	c.client("client-1", 0, func(s *session) { s.do(master, "SET lock a PX 1000") })
	c.at(500*ms, func() { c.Stop(master, sim.PowerLoss) })
	c.client("client-2", 2*time.Second, func(s *session) { s.do(replica1, "GET lock") })
	records := c.run(10 * time.Second)
	want(t, "said", c.said[1:], "2.002s client-2 GET lock: $-1")
	want(t, "records", records[1:], "redis-1-replica-1: lock gone of client-1/1, expired")
}

func TestReplyAndEffectsOfAlwaysWaitForTheFsync(t *testing.T) {
	c := newCluster(t, redis.Config{Persistence: store.Always, FsyncTime: 10 * ms}, 1)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a")
		s.do(master, "WAIT 1 0")
	})
	c.at(6*ms, func() {
		if got := c.keys(replica1); got != "" {
			t.Errorf("before its master's fsync the replica has %s", got)
		}
	})
	c.run(time.Second)
	// The reply to SET arrives after 11 + 1 ms. The replica's own fsync ends at 22 ms. Its acknowledgment and the reply
	// to WAIT then take 1 ms each.
	want(t, "said", c.said, "12ms client-1 SET lock a: +OK", "24ms client-1 WAIT 1 0: :1")
}

func TestReplicaOfMovesANode(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1)
	c.client("client-1", 0, func(s *session) {
		s.do(replica1, "REPLICAOF redis-1 6379")
		s.do(replica1, "REPLICAOF nowhere 6379")
		s.do(replica1, "REPLICAOF redis-1 x")
		s.do(replica1, "REPLICAOF NO ONE")
		s.do(replica1, "SET own x")
		s.do(replica1, "SLAVEOF redis-1 6379")
		s.Sleep(10 * ms)
		s.do(replica1, "GET own")
		s.do(master, "WAIT 1 10")
	})
	records := c.run(time.Second)
	want(t, "said", c.said, "2ms client-1 REPLICAOF redis-1 6379: +OK Already connected to specified master",
		"4ms client-1 REPLICAOF nowhere 6379: -ERR fencepost: this node does not know nowhere:6379",
		"6ms client-1 REPLICAOF redis-1 x: -ERR Invalid master port", "8ms client-1 REPLICAOF NO ONE: +OK",
		"10ms client-1 SET own x: +OK",
		"12ms client-1 SLAVEOF redis-1 6379: +OK", "24ms client-1 GET own: $-1", "26ms client-1 WAIT 1 10: :1")
	want(t, "records", records, "redis-1-replica-1: own set of client-1/1 by client-1/1",
		"redis-1-replica-1: own gone of client-1/1, lost in failover")
}

// failoverLock is an example of a lock client for a group with a Sentinel. It acquires the lock from the master. The
// client does not hold the lock until a replica has the key, too.
func failoverLock(s *session, value string) (master sim.ProcessID, held bool) {
	fields := strings.Fields(s.ask(observer, 0, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "redis-1"))
	master = sim.ProcessID(fields[2])
	if s.ask(master, 0, "SET", "lock", value, "NX", "PX", "10000") != "+OK" {
		return master, false
	}
	if s.ask(master, 0, "WAIT", "1", "1000") == ":1" {
		return master, true
	}
	s.ask(master, 0, "CAD", "lock", value)
	return master, false
}

// TestFailoverLockWithWait checks that clients of this lock can acquire it in each run, although the master loses
// power, that a seed always gives the same run, and that each seed gives another one.
func TestFailoverLockWithWait(t *testing.T) {
	digest := func(seed uint64) string {
		c := newCluster(t, redis.Config{Persistence: store.Everysec, FsyncTime: store.DefaultFsyncTime}, 2)
		c.World.Reset(seed, sim.Options{Delay: sim.Delay{Lo: 100 * time.Microsecond, Hi: 5 * ms}})
		c.group = &redis.Group{}
		for i, name := range c.names {
			cfg := redis.Config{Version: redis.Tair, Group: c.group}
			if i == 0 {
				cfg.Replicas = c.names[1:]
			} else {
				cfg.Replicates = master
			}
			c.nodes[name].Reset(cfg)
			c.AddServer(name, c.nodes[name])
		}
		c.watch(quick)
		holders := 0
		for i := range 3 {
			c.client(fmt.Sprintf("client-%d", i+1), 0, func(s *session) {
				for n := range 5 {
					s.attempt = history.Attempt(fmt.Sprintf("%s/%d", s.Name(), n))
					at, held := failoverLock(s, string(s.attempt))
					s.Sleep(100 * ms)
					if held {
						holders++
						s.ask(at, 0, "EVAL", releaseScript, "1", "lock", string(s.attempt))
					}
					s.Sleep(time.Duration(s.Rand() % uint64(3*time.Second)))
				}
			})
		}
		c.at(2*time.Second, func() { c.Stop(master, sim.PowerLoss) })
		c.at(9*time.Second, func() { c.Restart(master) })
		records := c.run(40 * time.Second)
		if holders == 0 {
			t.Errorf("seed %d: nobody ever held the lock", seed)
		}
		return fmt.Sprint(c.Digest(), c.Events(), records)
	}
	seen := map[string]bool{}
	for seed := range uint64(20) {
		first := digest(seed)
		if again := digest(seed); again != first {
			t.Fatalf("seed %d gave\n%s\nand then\n%s", seed, first, again)
		}
		seen[first] = true
	}
	if len(seen) != 20 {
		t.Errorf("20 seeds gave %d different runs", len(seen))
	}
}
