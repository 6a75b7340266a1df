package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// caches enables RESP3 and tracking for a client.
func (s *session) caches(to sim.ProcessID, options ...string) {
	s.ask(to, 0, "HELLO", "3")
	if got := s.ask(to, 0, append([]string{"CLIENT", "TRACKING", "ON"}, options...)...); got != "+OK" {
		s.c.t.Errorf("CLIENT TRACKING ON %v: %s", options, got)
	}
}

// TestClientsThatCacheAreNotifiedOfChanges checks that a client that has read a key is notified once of the key's next
// change, no matter which client makes the change. If the client makes the change itself, the notice follows the reply,
// unless the client has chosen not to be notified of its own changes.
func TestClientsThatCacheAreNotifiedOfChanges(t *testing.T) {
	c := newCluster(t, redis.Config{}, 0)
	c.client("client-1", 0, func(s *session) {
		s.caches(master, "NOLOOP")
		s.do(master, "GET lock")
		s.listen(master, 0)
		s.do(master, "GET lock")
		s.do(master, "SET lock b")
		s.listen(master, 0)
	})
	c.client("client-2", 100*ms, func(s *session) {
		s.caches(master, "OPTIN")
		s.do(master, "GET lock")
		s.do(master, "SET lock a")
		s.Sleep(50 * ms)
		s.do(master, "CLIENT CACHING YES")
		s.do(master, "GET lock")
		s.do(master, "DEL lock")
		s.listen(master, 0)
	})
	c.run(3 * time.Second)
	want(t, "said", c.said, "6ms client-1 GET lock: _", "106ms client-2 GET lock: _",
		"108ms client-2 SET lock a: +OK", "108ms client-1 hears >2 $10 invalidate *1 $4 lock",
		"110ms client-1 GET lock: $1 a",
		"112ms client-1 SET lock b: +OK", "160ms client-2 CLIENT CACHING YES: +OK", "162ms client-2 GET lock: $1 b",
		"164ms client-2 DEL lock: :1", "164ms client-2 hears >2 $10 invalidate *1 $4 lock",
		"1.112s client-1 hears nothing")
}

// TestClientsThatCacheAreNotifiedOfExpiryWhenTheKeyIsDeleted checks that a client is told to forget an expired key when
// the node deletes the key. The node does this in its background cycle, which runs every 100 ms, or when a command
// accesses the key.
func TestClientsThatCacheAreNotifiedOfExpiryWhenTheKeyIsDeleted(t *testing.T) {
	for _, comesAcross := range []bool{false, true} {
		c := newCluster(t, redis.Config{}, 0)
		c.client("client-1", 0, func(s *session) {
			s.caches(master)
			s.ask(master, 0, "SET", "lock", "a", "PX", "120")
			s.ask(master, 0, "GET", "lock")
			s.listen(master, 0)
			s.listen(master, 0)
		})
		c.client("client-2", 149*ms, func(s *session) {
			if comesAcross {
				s.ask(master, 0, "EXISTS", "lock")
			}
		})
		c.run(3 * time.Second)
		at := map[bool]string{false: "201ms", true: "151ms"}[comesAcross] // the key expired at 126 ms
		want(t, "said", c.said, at+" client-1 hears >2 $10 invalidate *1 $4 lock",
			map[bool]string{false: "1.201s", true: "1.151s"}[comesAcross]+" client-1 hears nothing")
	}
}

// TestClientsThatCacheFromAReplicaAreNotifiedAsItFollows checks that a replica's clients are notified when the master's
// DEL arrives, and after a full resync, which removes all keys.
func TestClientsThatCacheFromAReplicaAreNotifiedAsItFollows(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1)
	c.client("client-1", 0, func(s *session) {
		s.Sleep(10 * ms)
		s.caches(replica1)
		s.ask(replica1, 0, "GET", "lock")
		s.listen(replica1, 0) // receive the expiry notice
		s.listen(replica1, 0)
		s.listen(replica1, 0) // receive the resync notice
	})
	c.client("client-2", 0, func(s *session) { s.ask(master, 0, "SET", "lock", "a", "PX", "100") })
	c.at(1500*ms, func() { c.Stop(master, sim.PowerLoss); c.Restart(master) })
	c.run(5 * time.Second)
	for i, line := range c.said {
		_, c.said[i], _ = strings.Cut(line, " client-1 ") // the time at which a replica requests all data is random
	}
	want(t, "said", c.said, "hears >2 $10 invalidate *1 $4 lock", "hears nothing", "hears >2 $10 invalidate _")
}

// TestTrackingEndsWithTheConnection checks that the keys tracked by a connection are forgotten when it ends or sends
// RESET.
func TestTrackingEndsWithTheConnection(t *testing.T) {
	c := newCluster(t, redis.Config{}, 0)
	c.client("client-1", 0, func(s *session) {
		s.caches(master)
		s.ask(master, 0, "GET", "lock")
		s.Close(sim.Conn{Server: master})
		s.do(master, "CLIENT TRACKINGINFO")
		s.do(master, "GET lock")
		s.caches(master)
		s.do(master, "GET lock")
		s.do(master, "RESET")
		s.do(master, "GET lock")
		s.do(master, "SET lock a")
		s.listen(master, 0)
	})
	c.run(3 * time.Second)
	want(t, "said", c.said, "10ms client-1 CLIENT TRACKINGINFO: *6 $5 flags *1 $3 off $8 redirect :-1 $8 prefixes *0",
		"12ms client-1 GET lock: $-1", "18ms client-1 GET lock: _", "20ms client-1 RESET: +RESET",
		"22ms client-1 GET lock: $-1", "24ms client-1 SET lock a: +OK", "1.024s client-1 hears nothing")
}

// TestConnectionThatListensInRESP3DoesOtherThingsToo checks that in RESP3, a connection with subscriptions can also
// send other commands, and that messages then arrive as pushes.
func TestConnectionThatListensInRESP3DoesOtherThingsToo(t *testing.T) {
	c := newCluster(t, redis.Config{}, 0)
	c.client("client-1", 0, func(s *session) {
		s.ask(master, 0, "HELLO", "3")
		s.do(master, "SUBSCRIBE free")
		s.do(master, "SET lock a")
		s.do(master, "PUBLISH free 1")
		s.listen(master, 0)
	})
	c.run(3 * time.Second)
	want(t, "said", c.said, "4ms client-1 SUBSCRIBE free: >3 $9 subscribe $4 free :1", "6ms client-1 SET lock a: +OK",
		"8ms client-1 PUBLISH free 1: :1", "8ms client-1 hears >3 $7 message $4 free $1 1")
}

func TestQuitEndsTheConnectionAfterItsReply(t *testing.T) {
	c := newCluster(t, redis.Config{}, 0)
	c.client("client-1", 0, func(s *session) {
		s.ask(master, 0, "MULTI")
		s.do(master, "QUIT")
		s.listen(master, 0)
		s.do(master, "EXEC")
	})
	c.run(3 * time.Second)
	want(t, "said", c.said, "4ms client-1 QUIT: +OK", "4ms client-1 hears closed",
		"8ms client-1 EXEC: -ERR EXEC without MULTI")
}

func TestServerWithAPasswordAsksForItOnEachConnection(t *testing.T) {
	c := newCluster(t, redis.Config{Password: "secret"}, 1)
	c.client("client-1", 0, func(s *session) {
		for _, command := range []string{"GET lock", "HELLO 3 SETNAME me", "AUTH wrong", "AUTH secret", "SET lock a",
			"RESET", "GET lock",
			"HELLO 3 AUTH default wrong", "HELLO 3 AUTH default secret SETNAME me", "CLIENT GETNAME", "GET lock"} {
			reply, _, _ := strings.Cut(s.ask(master, 0, strings.Fields(command)...), " ")
			s.say("%s: %s", command, reply)
		}
	})
	c.run(3 * time.Second)
	for i, line := range c.said {
		_, c.said[i], _ = strings.Cut(line, " client-1 ")
	}
	want(t, "said", c.said, "GET lock: -NOAUTH", "HELLO 3 SETNAME me: -NOAUTH", "AUTH wrong: -WRONGPASS",
		"AUTH secret: +OK", "SET lock a: +OK",
		"RESET: +RESET", "GET lock: -NOAUTH", "HELLO 3 AUTH default wrong: -WRONGPASS",
		"HELLO 3 AUTH default secret SETNAME me: %7", "CLIENT GETNAME: $2", "GET lock: $1")
}

// TestSentinelNotifiesLibrariesOfASwitch checks that a client library can use RESP to ask the Sentinel for the master,
// and to subscribe to the channel on which the Sentinel announces a new master.
func TestSentinelNotifiesLibrariesOfASwitch(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1).watch(redis.SentinelConfig{})
	c.client("client-1", 0, func(s *session) {
		s.ask(observer, 0, "HELLO", "3")
		s.do(observer, "CLIENT SETINFO LIB-NAME go-redis")
		s.do(observer, "SENTINEL get-master-addr-by-name redis-1")
		s.do(observer, "SENTINEL get-master-addr-by-name redis-2")
		s.do(observer, "SENTINEL sentinels redis-1")
		s.do(observer, "SENTINEL replicas redis-1")
		s.do(observer, "SENTINEL master redis-2")
		s.do(observer, "SUBSCRIBE +switch-master")
		for range 3 {
			s.listen(observer, 0)
		}
		s.do(observer, "SENTINEL get-master-addr-by-name redis-1")
		s.do(observer, "GET lock")
	})
	c.client("client-2", 50*ms, func(s *session) {
		s.do(observer, "SENTINEL masters")
		s.do(observer, "PSUBSCRIBE +switch*")
		s.do(observer, "SENTINEL masters")
		for range 3 {
			s.listen(observer, 0)
		}
	})
	c.at(1500*ms, func() { c.failOver(replica1) })
	c.run(5 * time.Second)
	const fields = "$2 ip $%d %s $4 port $4 6379 $5 flags $%d %s $23 down-after-milliseconds $5 30000"
	node := func(host, flags string) string { return fmt.Sprintf(fields, len(host), host, len(flags), flags) }
	want(t, "said", untimed(c.said),
		"client-1 CLIENT SETINFO LIB-NAME go-redis: -ERR unknown subcommand 'SETINFO'. Try CLIENT HELP.",
		"client-1 SENTINEL get-master-addr-by-name redis-1: *2 $7 redis-1 $4 6379",
		"client-1 SENTINEL get-master-addr-by-name redis-2: _", "client-1 SENTINEL sentinels redis-1: *0",
		"client-1 SENTINEL replicas redis-1: *1 %9 $4 name $22 redis-1-replica-1:6379 "+
			node("redis-1-replica-1", "slave")+
			" $18 master-link-status $2 ok $11 master-host $7 redis-1 $11 master-port $4 6379 $17 slave-repl-offset "+
			"$1 0",
		"client-1 SENTINEL master redis-2: -ERR No such master with that name",
		"client-1 SUBSCRIBE +switch-master: >3 $9 subscribe $14 +switch-master :1",
		"client-2 SENTINEL masters: *1 *16 $4 name $7 redis-1 "+node("redis-1", "master")+
			" $10 num-slaves $1 1 $19 num-other-sentinels $1 0 $6 quorum $1 1",
		"client-2 PSUBSCRIBE +switch*: *3 $10 psubscribe $8 +switch* :1",
		"client-2 SENTINEL masters: -ERR Can't execute 'sentinel|masters': only (P|S)SUBSCRIBE / "+
			"(P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
		"client-1 hears nothing", "client-2 hears nothing", "client-1 hears nothing", "client-2 hears nothing",
		"client-1 hears >3 $7 message $14 +switch-master $43 redis-1 redis-1 6379 redis-1-replica-1 6379",
		"client-2 hears *4 $8 pmessage $8 +switch* $14 +switch-master $43 redis-1 redis-1 6379 "+
			"redis-1-replica-1 6379",
		"client-1 SENTINEL get-master-addr-by-name redis-1: *2 $17 redis-1-replica-1 $4 6379",
		"client-1 GET lock: -ERR unknown command 'GET', with args beginning with: ")
}
