package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

// newMembers returns a Redis Cluster with three masters, each with the given number of replicas. All messages take a
// millisecond. redis-2 serves the slot for the key "lock".
func newMembers(t *testing.T, seed uint64, replicas int, timeout time.Duration) *cluster {
	c := &cluster{World: sim.New(seed, sim.Options{Delay: sim.Delay{Lo: ms, Hi: ms}}), t: t,
		nodes: map[sim.ProcessID]*redis.Node{}}
	members := &redis.ClusterConfig{NodeTimeout: timeout}
	for i := range 3 {
		names := []sim.ProcessID{sim.ProcessID(fmt.Sprintf("redis-%d", i+1))}
		for k := range replicas {
			names = append(names, sim.ProcessID(fmt.Sprintf("%s-replica-%d", names[0], k+1)))
		}
		members.Groups = append(members.Groups, names)
	}
	for _, names := range members.Groups {
		group := &redis.Group{}
		for i, name := range names {
			cfg := redis.Config{Cluster: members, Group: group, Replicas: names[1:]}
			if i > 0 {
				cfg.Replicas, cfg.Replicates = nil, names[0]
			}
			c.names = append(c.names, name)
			c.nodes[name] = redis.New(cfg)
			c.AddServer(name, c.nodes[name])
		}
	}
	return c
}

// membersExcept lists all members except one.
func (c *cluster) membersExcept(excluded sim.ProcessID) (list []sim.ProcessID) {
	for _, name := range c.names {
		if name != excluded {
			list = append(list, name)
		}
	}
	return list
}

// doAt sends a command at the given time.
func (s *session) doAt(at time.Duration, to sim.ProcessID, command string) {
	s.Sleep(at - s.c.Now().Duration())
	s.do(to, command)
}

// sendUntil sends a command every 10 ms until the reply begins with the given text, and returns the time of that reply.
func (s *session) sendUntil(to sim.ProcessID, command, reply string) time.Duration {
	for !strings.HasPrefix(s.ask(to, 0, strings.Fields(command)...), reply) {
		s.Sleep(10 * ms)
	}
	return s.c.Now().Duration()
}

func TestTheSlotOfAKeyIsTheCRC16OfItsHashTag(t *testing.T) {
	for key, slot := range map[string]int{"123456789": 0x31C3, "foo": 12182, "lock": 8718, "{lock}:token": 8718,
		"a{lock}{x}": 8718, "": 0, "bar": 5061} {
		if got := redis.KeySlot(key); got != slot {
			t.Errorf("%q: %d, not %d", key, got, slot)
		}
	}
	if redis.SlotOwner(5460, 3) != 0 || redis.SlotOwner(5461, 3) != 1 || redis.SlotOwner(10923, 3) != 2 {
		t.Error("three masters share the slots differently than after redis-cli --cluster create")
	}
}

func TestMembersSendClientsToTheOwnerOfASlot(t *testing.T) {
	c := newMembers(t, 1, 1, time.Second)
	c.client("client-1", 10*ms, func(s *session) {
		s.do("redis-1", "SET lock 1")
		s.do("redis-2", "SET lock 1")
		s.do("redis-2-replica-1", "GET lock")
		s.do("redis-2-replica-1", "READONLY")
		s.do("redis-2-replica-1", "GET lock")
		s.do("redis-2-replica-1", "SET lock 2")
		s.do("redis-2", "DEL lock other")
		s.do("redis-2", "EVAL return(redis.call('get','foo')) 1 lock")
		s.do("redis-1", "PING")
		s.do("redis-1", "HELLO")
		s.do("redis-1", "INFO cluster")
	})
	c.run(2 * time.Second)
	want(t, "the replies", untimed(c.said),
		"client-1 SET lock 1: -MOVED 8718 redis-2:6379",
		"client-1 SET lock 1: +OK",
		"client-1 GET lock: -MOVED 8718 redis-2:6379",
		"client-1 READONLY: +OK",
		"client-1 GET lock: $1 1",
		"client-1 SET lock 2: -MOVED 8718 redis-2:6379",
		"client-1 DEL lock other: -CROSSSLOT Keys in request don't hash to the same slot",
		"client-1 EVAL return(redis.call('get','foo')) 1 lock: -ERR Script attempted to access a non local key in a "+
			"cluster node script: "+lua.SHA1Hex("return(redis.call('get','foo'))")+", on @user_script:1.",
		"client-1 PING: +PONG",
		"client-1 HELLO: *14 $6 server $5 redis $7 version $6 7.0.15 $5 proto :2 $2 id :1 $4 mode $7 cluster $4 role "+
			"$6 master $7 modules *0",
		"client-1 INFO cluster: $30 # Cluster cluster_enabled:1 ")
}

// TestAFailedMemberIsReplacedByItsReplica checks that a lock that has not reached the replica is lost, as with a
// Sentinel, because replication is asynchronous. The old master must come back as a replica.
func TestAFailedMemberIsReplacedByItsReplica(t *testing.T) {
	for seed := range uint64(20) {
		c := newMembers(t, seed, 1, time.Second)
		c.at(0, func() { c.cut("redis-2", "redis-2-replica-1") })
		c.at(100*ms, func() { c.Stop("redis-2", sim.PowerLoss); c.heal("redis-2", "redis-2-replica-1") })
		c.at(6*time.Second, func() { c.Restart("redis-2") })
		var down, up time.Duration
		c.client("client-1", 10*ms, func(s *session) {
			s.do("redis-2", "SET lock 1")
			s.Sleep(100 * ms)
			down = s.sendUntil("redis-1", "CLUSTER INFO", "$206 cluster_state:fail")
			up = s.sendUntil("redis-2-replica-1", "SET lock 2 NX", "+OK")
			s.do("redis-1", "GET lock")
			s.ask("redis-2", 0, "PING") // the connection has broken
			s.doAt(9*time.Second, "redis-2", "GET lock")
			s.do("redis-2", "READONLY")
			s.do("redis-2", "GET lock")
		})
		records := c.run(10 * time.Second)
		if down < 1100*ms || down > 2*time.Second || up < down+500*ms || up > down+1500*ms {
			t.Errorf("seed %d: the cluster was down from %v to %v", seed, down, up)
		}
		want(t, "the replies", untimed(c.said),
			"client-1 SET lock 1: +OK",
			"client-1 GET lock: -MOVED 8718 redis-2-replica-1:6379",
			"client-1 GET lock: -MOVED 8718 redis-2-replica-1:6379",
			"client-1 READONLY: +OK",
			"client-1 GET lock: $1 2")
		want(t, "the records", records,
			"redis-2: lock set of client-1/1 by client-1/1",
			"redis-2-replica-1: lock gone of client-1/1, lost in failover",
			"redis-2-replica-1: lock set of client-1/1 by client-1/1",
			"redis-2: lock gone of client-1/1, lost in crash (no persistence)")
	}
}

// TestAMasterCutOffStopsServing checks that a master that can reach only a minority stops serving at about the time
// when the other masters replace it. Writes that it has accepted in the meantime must be lost.
func TestAMasterCutOffStopsServing(t *testing.T) {
	for seed := range uint64(testkit.Size(4, 20, 20)) {
		c := newMembers(t, seed, 1, 2*time.Second)
		c.at(time.Second, func() { c.cut("redis-2", c.membersExcept("redis-2")...) })
		c.at(10*time.Second, func() { c.heal("redis-2", c.membersExcept("redis-2")...) })
		var stops, takes time.Duration
		c.client("client-1", 10*ms, func(s *session) {
			s.Sleep(time.Second)
			s.do("redis-2", "SET lock 1")
			stops = s.sendUntil("redis-2", "GET lock", "-CLUSTERDOWN The cluster is down")
			s.doAt(11*time.Second, "redis-2", "GET lock")
		})
		c.client("client-2", 10*ms, func(s *session) {
			takes = s.sendUntil("redis-2-replica-1", "SET lock 2 NX", "+OK")
		})
		records := c.run(12 * time.Second)
		if stops < 3*time.Second || stops > 4500*ms || takes < 3500*ms || takes > 6*time.Second {
			t.Errorf("seed %d: the old master stops at %v, and the new one serves at %v", seed, stops, takes)
		}
		want(t, "the replies", untimed(c.said), "client-1 SET lock 1: +OK",
			"client-1 GET lock: -MOVED 8718 redis-2-replica-1:6379")
		if !slices.Contains(records, "redis-2-replica-1: lock gone of client-1/1, lost in failover") {
			t.Errorf("seed %d: %q", seed, records)
		}
	}
}

func TestNobodyIsElectedWithoutAMajority(t *testing.T) {
	c := newMembers(t, 1, 1, time.Second)
	c.at(100*ms, func() {
		c.Stop("redis-1", sim.PowerLoss)
		c.Stop("redis-2", sim.PowerLoss)
	})
	c.client("client-1", 20*time.Second, func(s *session) {
		s.do("redis-3", "SET foo 1")
		s.do("redis-2-replica-1", "GET lock")
	})
	c.run(21 * time.Second)
	want(t, "the replies", untimed(c.said), "client-1 SET foo 1: -CLUSTERDOWN The cluster is down",
		"client-1 GET lock: -CLUSTERDOWN The cluster is down")
}

// TestOrdersToFailOver checks that a replica replaces its master when CLUSTER FAILOVER or a fault orders it to, even
// though the master is working. The old master must then follow it immediately.
func TestOrdersToFailOver(t *testing.T) {
	for how, order := range map[string]func(c *cluster, s *session){
		"FORCE":    func(_ *cluster, s *session) { s.ask("redis-2-replica-2", 0, "CLUSTER", "FAILOVER", "FORCE") },
		"TAKEOVER": func(_ *cluster, s *session) { s.ask("redis-2-replica-2", 0, "CLUSTER", "FAILOVER", "TAKEOVER") },
		"a fault": func(c *cluster, _ *session) {
			c.ServerFault("redis-2-replica-2", sim.ServerFault{Kind: sim.FailOver, To: "redis-2-replica-2"})
		},
	} {
		c := newMembers(t, 1, 2, time.Second)
		c.client("client-1", 10*ms, func(s *session) {
			s.do("redis-2", "SET lock 1")
			order(c, s)
			s.Sleep(100 * ms)
			for _, name := range c.names {
				s.do(name, "GET lock")
			}
		})
		c.run(time.Second)
		lines := []string{"client-1 SET lock 1: +OK"}
		for _, name := range c.names {
			reply := "-MOVED 8718 redis-2-replica-2:6379"
			if name == "redis-2-replica-2" {
				reply = "$1 1"
			}
			lines = append(lines, "client-1 GET lock: "+reply)
		}
		want(t, how, untimed(c.said), lines...)
		for _, name := range []sim.ProcessID{"redis-2", "redis-2-replica-1"} {
			if c.nodes[name].Master() != "redis-2-replica-2" {
				t.Errorf("%s: %s follows %s", how, name, c.nodes[name].Master())
			}
		}
	}
}

// TestTheReplicaWithTheMostDataIsElected checks that the replica that has received the last write is elected. The other
// one asks for votes a second later.
func TestTheReplicaWithTheMostDataIsElected(t *testing.T) {
	for seed := range uint64(20) {
		c := newMembers(t, seed, 2, time.Second)
		c.at(0, func() { c.Cut("redis-2", "redis-2-replica-1") })
		c.at(100*ms, func() { c.Stop("redis-2", sim.PowerLoss); c.Heal("redis-2", "redis-2-replica-1") })
		c.client("client-1", 10*ms, func(s *session) {
			s.do("redis-2", "SET lock 1")
			s.doAt(5*time.Second, "redis-1", "GET lock")
		})
		c.run(6 * time.Second)
		want(t, "the replies", untimed(c.said), "client-1 SET lock 1: +OK",
			"client-1 GET lock: -MOVED 8718 redis-2-replica-2:6379")
	}
}

// TestASlotIsMoved checks that while a slot is being moved, clients are redirected to the importing node for keys that
// the old node no longer has. After the move, all members must know the new owner.
func TestASlotIsMoved(t *testing.T) {
	c := newMembers(t, 1, 0, time.Second)
	c.client("client-1", 10*ms, func(s *session) {
		id := func(name sim.ProcessID) string {
			_, text, _ := strings.Cut(s.ask(name, 0, "CLUSTER", "MYID"), " ")
			return text
		}
		one, two := id("redis-1"), id("redis-2")
		s.ask("redis-2", 0, "SET", "lock", "1")
		s.ask("redis-2", 0, "CLUSTER", "SETSLOT", "8718", "MIGRATING", one)
		s.ask("redis-1", 0, "CLUSTER", "SETSLOT", "8718", "IMPORTING", two)
		s.do("redis-2", "GET lock")
		s.do("redis-2", "GET {lock}b")
		s.do("redis-2", "MGET lock {lock}b")
		s.do("redis-1", "GET {lock}b")
		s.do("redis-1", "ASKING")
		s.do("redis-1", "SET {lock}b 2")
		s.do("redis-1", "GET {lock}b")
		s.do("redis-2", "DEL lock")
		s.ask("redis-1", 0, "CLUSTER", "SETSLOT", "8718", "NODE", one)
		s.ask("redis-2", 0, "CLUSTER", "SETSLOT", "8718", "NODE", one)
		s.Sleep(10 * ms)
		s.do("redis-1", "GET {lock}b")
		s.do("redis-3", "GET {lock}b")
		s.do("redis-2", "GET {lock}b")
	})
	c.run(time.Second)
	want(t, "the replies", untimed(c.said),
		"client-1 GET lock: $1 1",
		"client-1 GET {lock}b: -ASK 8718 redis-1:6379",
		"client-1 MGET lock {lock}b: -TRYAGAIN Multiple keys request during rehashing of slot",
		"client-1 GET {lock}b: -MOVED 8718 redis-2:6379",
		"client-1 ASKING: +OK",
		"client-1 SET {lock}b 2: +OK",
		"client-1 GET {lock}b: -MOVED 8718 redis-2:6379",
		"client-1 DEL lock: :1",
		"client-1 GET {lock}b: $1 2",
		"client-1 GET {lock}b: -MOVED 8718 redis-1:6379",
		"client-1 GET {lock}b: -MOVED 8718 redis-1:6379")
}

// TestMessagesReachAllMembers checks that a message on a channel reaches every member's subscribers exactly once.
func TestMessagesReachAllMembers(t *testing.T) {
	c := newMembers(t, 1, 1, time.Second)
	for _, name := range c.names {
		c.client("at-"+string(name), 10*ms, func(s *session) {
			s.ask(name, 0, "SUBSCRIBE", "news")
			for {
				if _, status := s.Receive(sim.Conn{Server: name}, time.Second); status != sim.Answered {
					return
				}
				s.say("is told")
			}
		})
	}
	c.client("client-1", 100*ms, func(s *session) { s.do("redis-3", "PUBLISH news hello") })
	c.run(3 * time.Second)
	got := untimed(c.said)
	slices.Sort(got)
	want(t, "the subscribers", got, "at-redis-1 is told", "at-redis-1-replica-1 is told", "at-redis-2 is told",
		"at-redis-2-replica-1 is told", "at-redis-3 is told", "at-redis-3-replica-1 is told",
		"client-1 PUBLISH news hello: :1")
}

func TestANodeInNoClusterSaysSo(t *testing.T) {
	c := newCluster(t, redis.Config{}, 0)
	var lines []string
	c.client("client-1", 0, func(s *session) {
		for _, command := range []string{"CLUSTER SLOTS", "READONLY", "READWRITE", "ASKING"} {
			s.do(master, command)
			lines = append(lines, "client-1 "+command+": -ERR This instance has cluster support disabled")
		}
	})
	c.run(time.Second)
	if want(t, "the replies", untimed(c.said), lines...); len(lines) != 4 {
		t.Errorf("only %d commands were sent", len(lines))
	}
}
