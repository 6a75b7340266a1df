package redis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// When a blocked pop finally runs, it reaches the append-only file and the replicas as an ordinary pop, right after the
// command that unblocked it. The records of the removed elements name the attempt that sent the pop.
func TestPopThatWaitedIsLoggedAsAPop(t *testing.T) {
	c := newCluster(t, redis.Config{Persistence: store.Always, FsyncTime: 10 * ms}, 1)
	c.client("client-1", 0, func(s *session) { s.do(master, "BLPOP free 0") })
	c.client("client-2", 0, func(s *session) { s.do(master, "BLMOVE queue taken LEFT RIGHT 0") })
	c.client("client-3", 100*ms, func(s *session) {
		s.do(master, "RPUSH free x")
		s.do(master, "RPUSH queue y z")
	})
	records := c.run(2 * time.Second)
	want(t, "said", c.said, "112ms client-3 RPUSH free x: :1", "112ms client-1 BLPOP free 0: *2 $4 free $1 x",
		"124ms client-3 RPUSH queue y z: :2", "124ms client-2 BLMOVE queue taken LEFT RIGHT 0: $1 y")
	log := []string{"rpush free x", "lpop free", "rpush queue y z", "lmove queue taken LEFT RIGHT"}
	want(t, "the file", c.nodes[master].Log(), log...)
	want(t, "the replica's", c.nodes[replica1].Log(), log...)
	if c.keys(replica1) != c.keys(master) {
		t.Errorf("the replica has\n%s\nand the master\n%s", c.keys(replica1), c.keys(master))
	}
	want(t, "records", records, "redis-1: free set of client-3/1 by client-3/1",
		"redis-1: free gone of client-3/1, deleted client-1/1", "redis-1: queue set of client-3/1 by client-3/1",
		"redis-1: queue set of client-3/1 by client-3/1", "redis-1: queue gone of client-3/1, deleted client-2/1",
		"redis-1: taken set of client-2/1 by client-2/1")
}

// A client that has disconnected is not served. The element stays in the list for the next client.
func TestWhoeverGoesAwayIsServedNoMore(t *testing.T) {
	c := newCluster(t, redis.Config{}, 0)
	c.client("client-1", 0, func(s *session) {
		r := s.Call(50*ms, nil, sim.Request{Conn: sim.Conn{Server: master}, Args: strings.Fields("BLPOP free 0")})[0]
		s.say("answered: %v", r.Status == sim.Answered)
		s.Close(sim.Conn{Server: master})
	})
	c.client("client-2", 0, func(s *session) { s.ask(master, 0, "BLPOP", "free", "0") })
	c.client("client-3", 20*ms, func(s *session) { s.do(master, "BLPOP free 0") })
	c.at(60*ms, func() { c.Crash("client-2") })
	c.client("client-4", 100*ms, func(s *session) { s.do(master, "RPUSH free x") })
	c.run(2 * time.Second)
	want(t, "said", c.said, "50ms client-1 answered: false", "102ms client-4 RPUSH free x: :1",
		"102ms client-3 BLPOP free 0: *2 $4 free $1 x")
}

// When a master is deposed, clients that are waiting for a reply from it get an error and are disconnected. When a
// server stops, it forgets such clients: no element is handed to them after the restart.
func TestWaitForAListEndsWithTheRoleAndTheLifeOfItsServer(t *testing.T) {
	const wait = "BLPOP free 0"
	c := newCluster(t, redis.Config{}, 1)
	c.client("client-1", 0, func(s *session) {
		s.do(master, wait)
		s.listen(master, 0)
	})
	c.client("client-2", 100*ms, func(s *session) { s.do(master, "REPLICAOF redis-1-replica-1 6379") })
	c.run(5 * time.Second)
	slices.Sort(c.said)
	want(t, "said", c.said, "102ms client-1 "+wait+": -UNBLOCKED force unblock from blocking operation, instance "+
		"state changed (master -> replica?)", "102ms client-1 hears closed",
		"102ms client-2 REPLICAOF redis-1-replica-1 6379: +OK")

	c = newCluster(t, redis.Config{}, 0)
	c.client("client-1", 0, func(s *session) { s.do(master, wait) })
	c.at(200*ms, func() { c.Stop(master, sim.ShutDown) })
	c.at(300*ms, func() { c.Restart(master) })
	c.client("client-2", 400*ms, func(s *session) {
		s.do(master, "RPUSH free x")
		s.do(master, "LLEN free")
	})
	c.run(5 * time.Second)
	want(t, "said", c.said, "402ms client-2 RPUSH free x: :1", "404ms client-2 LLEN free: :1")
}

// With semi-synchronous replication, a waiting client gets its element only after a replica has received the pop.
func TestElementIsHandedOutOnceAReplicaHasThePop(t *testing.T) {
	c := newCluster(t, redis.Config{SemiSync: true}, 1)
	c.client("client-1", 0, func(s *session) { s.do(master, "BLPOP free 0") })
	c.client("client-2", 100*ms, func(s *session) { s.do(master, "RPUSH free x") })
	c.run(time.Second)
	want(t, "said", c.said, "104ms client-2 RPUSH free x: :1", "104ms client-1 BLPOP free 0: *2 $4 free $1 x")
}

// Subscribers are notified that a key has expired only when the key is deleted, that is, when a command accesses the
// key or at the next background cycle. On a replica, subscribers are notified when the master's DEL arrives.
func TestExpiryIsNotifiedOfWhenTheKeyIsDeleted(t *testing.T) {
	c := newCluster(t, redis.Config{NotifyKeyspaceEvents: "KEA"}, 1)
	for i, name := range []sim.ProcessID{master, replica1} {
		c.client([]string{"client-1", "client-2"}[i], 0, func(s *session) {
			s.ask(name, 0, "PSUBSCRIBE", "__keyevent@0__:*")
			for range 3 {
				s.listen(name, 0)
			}
		})
	}
	c.client("client-3", 100*ms, func(s *session) { s.do(master, "SET lock a PX 30") })
	c.run(time.Second)
	want(t, "said", c.said, "102ms client-3 SET lock a PX 30: +OK",
		"102ms client-1 hears *4 $8 pmessage $16 __keyevent@0__:* $18 __keyevent@0__:set $4 lock",
		"102ms client-1 hears *4 $8 pmessage $16 __keyevent@0__:* $21 __keyevent@0__:expire $4 lock",
		"103ms client-2 hears *4 $8 pmessage $16 __keyevent@0__:* $18 __keyevent@0__:set $4 lock",
		"103ms client-2 hears *4 $8 pmessage $16 __keyevent@0__:* $21 __keyevent@0__:expire $4 lock",
		"201ms client-1 hears *4 $8 pmessage $16 __keyevent@0__:* $22 __keyevent@0__:expired $4 lock",
		"202ms client-2 hears *4 $8 pmessage $16 __keyevent@0__:* $18 __keyevent@0__:del $4 lock")
}

// signalLockRelease is a script that releases a lock and wakes one waiter, as python-redis-lock does. The lock belongs
// to the client that has set the key, and waiters wait for an element of a list. If the client is the holder, the
// script deletes the key and leaves one element for the next waiter.
const signalLockRelease = `if redis.call("get", KEYS[1]) ~= ARGV[1] then return 1 else
	redis.call("del", KEYS[2])
	redis.call("lpush", KEYS[2], 1)
	redis.call("pexpire", KEYS[2], ARGV[2])
	redis.call("del", KEYS[1])
	return 0
end`

// TestWokenWaiterGetsTheLock checks that one waiting client is woken and gets the lock each time the lock becomes free.
func TestWokenWaiterGetsTheLock(t *testing.T) {
	c := newCluster(t, redis.Config{}, 0)
	for i, name := range []string{"client-1", "client-2", "client-3"} {
		c.client(name, time.Duration(i)*10*ms, func(s *session) {
			for s.ask(master, 0, "SET", "lock:x", name, "NX", "EX", "10") != "+OK" {
				s.ask(master, 0, "BLPOP", "lock-signal:x", "10")
			}
			s.say("has the lock")
			s.Sleep(100 * ms)
			s.ask(master, 0, "EVAL", signalLockRelease, "2", "lock:x", "lock-signal:x", name, "1000")
		})
	}
	c.run(5 * time.Second)
	want(t, "said", c.said, "2ms client-1 has the lock", "106ms client-2 has the lock", "210ms client-3 has the lock")
}
