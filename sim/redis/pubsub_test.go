package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// listen waits up to a second for a push from a server on connection n, and logs it.
func (s *session) listen(to sim.ProcessID, n int) {
	b, status := s.Receive(sim.Conn{Server: to, N: n}, time.Second)
	said := strings.ReplaceAll(strings.TrimSuffix(string(b), "\r\n"), "\r\n", " ")
	switch status {
	case sim.NoReply:
		said = "nothing"
	case sim.Reset:
		said = "closed"
	}
	s.say("hears %s", said)
}

func TestMessagesReachThoseWhoListenOnceAndInOrder(t *testing.T) {
	c := newCluster(t, redis.Config{}, 0)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SUBSCRIBE free one")
		s.do(master, "PSUBSCRIBE f*")
		for range 5 {
			s.listen(master, 0)
		}
	})
	c.client("client-2", 100*ms, func(s *session) {
		s.do(master, "PUBLISH free 1")
		s.do(master, "PUBLISH one 2")
		s.do(master, "PUBLISH two 3")
	})
	c.run(3 * time.Second)
	want(t, "said", c.said, "2ms client-1 SUBSCRIBE free one: *3 $9 subscribe $4 free :1 *3 $9 subscribe $3 one :2",
		"4ms client-1 PSUBSCRIBE f*: *3 $10 psubscribe $2 f* :3",
		"102ms client-2 PUBLISH free 1: :2", "102ms client-1 hears *3 $7 message $4 free $1 1",
		"102ms client-1 hears *4 $8 pmessage $2 f* $4 free $1 1",
		"104ms client-2 PUBLISH one 2: :1", "104ms client-1 hears *3 $7 message $3 one $1 2",
		"106ms client-2 PUBLISH two 3: :0", "1.104s client-1 hears nothing", "2.104s client-1 hears nothing")
}

// A message published on a master also reaches the subscribers of its replicas. A message published on a replica does
// not reach the master. No message is written to the append-only file.
func TestMessagesReachTheSubscribersOfReplicas(t *testing.T) {
	c := newCluster(t, redis.Config{Persistence: store.Always}, 1)
	c.client("client-1", 0, func(s *session) {
		s.do(replica1, "SUBSCRIBE free")
		s.listen(replica1, 0)
		s.listen(replica1, 0)
	})
	c.client("client-2", 100*ms, func(s *session) {
		s.do(master, "PUBLISH free 1")
		s.do(replica1, "PUBLISH free 2")
	})
	c.run(3 * time.Second)
	want(t, "said", c.said, "2ms client-1 SUBSCRIBE free: *3 $9 subscribe $4 free :1",
		"102ms client-2 PUBLISH free 1: :0",
		"103ms client-1 hears *3 $7 message $4 free $1 1", "104ms client-2 PUBLISH free 2: :1",
		"104ms client-1 hears *3 $7 message $4 free $1 2")
	want(t, "the files", append(c.nodes[master].Log(), c.nodes[replica1].Log()...))
}

// With store.Always, nothing is sent before the fsync, not even messages.
func TestMessagesOfATransactionLeaveAfterItsFsync(t *testing.T) {
	c := newCluster(t, redis.Config{Persistence: store.Always, FsyncTime: 10 * ms}, 0)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SUBSCRIBE free")
		s.listen(master, 0)
	})
	c.client("client-2", 100*ms, func(s *session) {
		got := s.ask(master, 0, "EVAL", "redis.call('set', KEYS[1], 'v') return redis.call('publish', 'free', '1')",
			"1", "lock")
		s.say("EVAL: %s", got)
	})
	c.run(3 * time.Second)
	want(t, "said", c.said[1:], "112ms client-2 EVAL: :1", "112ms client-1 hears *3 $7 message $4 free $1 1")
}

// When a connection ends for any reason, the server drops everything that it stores for the connection: its
// subscriptions, its transaction and its watched keys.
func TestClosedConnectionsLeaveNothingBehind(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1)
	begin := func(s *session) {
		s.ask(master, 0, "SUBSCRIBE", "free")
		s.ask(master, 1, "WATCH", "lock")
		s.ask(master, 1, "MULTI")
		s.ask(master, 1, "SET", "lock", "a")
	}
	c.client("client-1", 0, func(s *session) {
		begin(s)
		s.Close(sim.Conn{Server: master})
		s.Close(sim.Conn{Server: master, N: 1})
		s.Sleep(5 * time.Second)
	})
	c.client("client-2", 0, func(s *session) {
		begin(s)
		s.Sleep(5 * time.Second)
	})
	c.at(500*ms, func() { c.Crash("client-2") })
	c.client("client-3", 0, func(s *session) {
		s.Sleep(100 * ms)
		s.do(master, "PUBSUB NUMSUB free")
		s.Sleep(time.Second)
		s.do(master, "PUBSUB NUMSUB free")
		s.do(master, "PUBSUB CHANNELS")
	})
	c.run(10 * time.Second)
	want(t, "said", c.said, "102ms client-3 PUBSUB NUMSUB free: *2 $4 free :1",
		"1.104s client-3 PUBSUB NUMSUB free: *2 $4 free :0", "1.106s client-3 PUBSUB CHANNELS: *0")
	if open := redis.Connections(c.nodes[master]); open != 1 {
		t.Errorf("the node keeps %d connections, and one is open", open)
	}
}

// A cut network delays the message that a client has closed a connection, just like any other message.
func TestServerBehindACutDoesNotKnowThatItsClientHasGone(t *testing.T) {
	c := newCluster(t, redis.Config{}, 0)
	c.client("client-1", 0, func(s *session) {
		s.ask(master, 0, "SUBSCRIBE", "free")
		s.Sleep(98 * ms)
		s.Close(sim.Conn{Server: master})
	})
	c.at(50*ms, func() { c.cut("client-1", master) })
	c.at(time.Second, func() { c.heal("client-1", master) })
	c.client("client-2", 0, func(s *session) {
		s.Sleep(500 * ms)
		s.do(master, "PUBLISH free 1")
		s.Sleep(time.Second)
		s.do(master, "PUBLISH free 2")
	})
	c.run(5 * time.Second)
	want(t, "said", c.said, "502ms client-2 PUBLISH free 1: :1", "1.504s client-2 PUBLISH free 2: :0")
}

// A Sentinel that changes a node's role makes the node disconnect its clients, so that they ask again which node is the
// master (sentinelSendSlaveOf in Redis's sentinel.c). The new master disconnects its clients when it is promoted, and
// the old master disconnects its own when it is reconfigured.
func TestNodeWhoseRoleChangesClosesItsConnections(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1).watch(redis.SentinelConfig{ReconfigureAfter: 2 * time.Second})
	for i, name := range []sim.ProcessID{master, replica1} {
		c.client([]string{"client-1", "client-2"}[i], 0, func(s *session) {
			s.ask(name, 0, "SUBSCRIBE", "free")
			s.ask(name, 1, "MULTI")
			for range []int{5, 2}[i] { // until the client learns that the connection has ended
				s.listen(name, 0)
			}
			s.say("EXEC: %s", s.ask(name, 1, "EXEC"))
			s.do(name, "PUBSUB CHANNELS")
		})
	}
	c.at(1500*ms, func() { c.failOver(replica1) })
	c.run(10 * time.Second)
	want(t, "said", untimed(c.said), "client-1 hears nothing", "client-2 hears nothing", "client-2 hears closed",
		"client-2 EXEC: -ERR EXEC without MULTI", "client-2 PUBSUB CHANNELS: *0",
		// The new master is announced about a second after its promotion, and the old master is reconfigured two
		// seconds later.
		"client-1 hears nothing", "client-1 hears nothing", "client-1 hears nothing", "client-1 hears closed",
		"client-1 EXEC: -ERR EXEC without MULTI", "client-1 PUBSUB CHANNELS: *0")
}

// When the role changes, clients that are waiting for replicas are disconnected like all other clients, and get no
// reply.
func TestWaitOfANodeWhoseRoleChangesEndsWithItsConnection(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1).watch(redis.SentinelConfig{ReconfigureAfter: -1})
	c.Cut(master, replica1)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a")
		r := s.Call(10*time.Second, nil,
			sim.Request{Conn: sim.Conn{Server: master}, Args: []string{"WAIT", "1", "0"}})[0]
		s.say("WAIT: reset %v", r.Status == sim.Reset)
		s.listen(master, 0)
	})
	c.at(500*ms, func() { c.failOver(replica1) })
	c.run(20 * time.Second)
	want(t, "said", untimed(c.said), "client-1 SET lock a: +OK", "client-1 WAIT: reset true", "client-1 hears closed")
}

// When a client sends REPLICAOF, only clients that are waiting for replicas are disconnected. They receive an error
// first.
func TestReplicaOfDisconnectsThoseWhoWait(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1)
	c.Cut(master, replica1)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a")
		s.do(master, "WAIT 1 0")
		s.listen(master, 0)
	})
	c.client("client-2", 0, func(s *session) {
		s.ask(master, 0, "MULTI")
		s.Sleep(500 * ms)
		s.ask(master, 1, "REPLICAOF", string(replica1), "6379")
		s.do(master, "EXEC")
	})
	c.run(5 * time.Second)
	want(t, "said", c.said, "2ms client-1 SET lock a: +OK",
		"504ms client-1 WAIT 1 0: -UNBLOCKED force unblock from blocking operation, instance state changed (master "+
			"-> replica?)",
		"504ms client-1 hears closed", "506ms client-2 EXEC: *0")
}
