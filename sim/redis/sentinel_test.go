package redis_test

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

const who = "SENTINEL GET-MASTER-ADDR-BY-NAME redis-1"

func TestReplicaThatHasComeFarthestIsPromoted(t *testing.T) {
	c := newCluster(t, redis.Config{}, 2).watch(quick)
	c.Cut(master, replica1)
	c.client("client-1", 0, func(s *session) {
		s.do(master, "SET lock a NX PX 60000")
		s.Sleep(3 * time.Second)
		c.Stop(master, sim.PowerLoss)
		s.Sleep(6 * time.Second)
		s.do(observer, who)
		s.do(replica1, "GET lock")
	})
	c.run(20 * time.Second)
	want(t, "said", c.said, "2ms client-1 SET lock a NX PX 60000: +OK",
		"9.004s client-1 "+who+": *2 $17 redis-1-replica-2 $4 6379", "9.006s client-1 GET lock: $1 a")
}

// TestStaleReplicaIsNotPromoted: a link is given up after repl-timeout, 60 s, and a replica may have been without its
// master for ten times DownAfter, 3 s.
func TestStaleReplicaIsNotPromoted(t *testing.T) {
	for _, x := range []struct {
		cut, heal, dies time.Duration
		promoted        bool
	}{{0, time.Hour, 20 * time.Second, true}, {0, time.Hour, 85 * time.Second, true},
		{0, time.Hour, 95 * time.Second, false}, {0, 95 * time.Second, 100 * time.Second, true},
		{100 * time.Second, time.Hour, 150 * time.Second, true},
		{100 * time.Second, time.Hour, 195 * time.Second, false},
	} {
		c := newCluster(t, redis.Config{}, 1).watch(quick)
		promoted := false
		c.group.Promoted = func(_, _ sim.ProcessID) { promoted = true }
		c.at(x.cut, func() { c.Cut(master, replica1); c.Cut(replica1, master) })
		c.at(x.heal, func() { c.Heal(master, replica1); c.Heal(replica1, master) })
		c.at(x.dies, func() { c.Stop(master, sim.PowerLoss) })
		c.run(x.dies + 2*time.Minute)
		if promoted != x.promoted {
			t.Errorf("cut from %v to %v, the master dies at %v: promoted %v", x.cut, x.heal, x.dies, promoted)
		}
	}
}

func TestSubscribersAreNotifiedOfASwitch(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1).watch(quick)
	c.client("client-1", 0, func(s *session) {
		s.do(observer, "SUBSCRIBE switch-master")
		for range 2 {
			report, _ := s.Receive(sim.Conn{Server: observer}, time.Minute)
			s.say("%s", report)
		}
	})
	c.at(time.Second, func() { c.failOver(replica1) })
	c.at(20*time.Second, func() { c.failOver(master) })
	c.run(30 * time.Second)
	want(t, "said", c.said, "2ms client-1 SUBSCRIBE switch-master: *3 $9 subscribe $13 switch-master :1",
		"1.003s client-1 switch-master redis-1 redis-1-replica-1",
		"20.003s client-1 switch-master redis-1-replica-1 redis-1")
}

func TestDeathIsDetectedWithinTheDownTimeAndAPing(t *testing.T) {
	for _, death := range []time.Duration{4 * time.Second, 4500 * ms, 4999 * ms} {
		c := newCluster(t, redis.Config{}, 1).watch(quick)
		var at time.Duration
		c.group.Promoted = func(_, _ sim.ProcessID) { at = c.Now().Duration() }
		c.at(death, func() { c.Pause(master) })
		c.run(20 * time.Second)
		if d := at - death; d < quick.DownAfter || d > quick.DownAfter+time.Second+2*ms {
			t.Errorf("a master that stood still at %v was replaced after %v", death, d)
		}
	}
}

func TestSentinelThatWasPausedMistrustsWhatItSees(t *testing.T) {
	c := newCluster(t, redis.Config{}, 1).watch(quick)
	c.at(time.Second, func() { c.Pause(observer); c.Pause(master) })
	c.at(10*time.Second, func() { c.Resume(observer) })
	c.client("client-1", 39*time.Second, func(s *session) {
		s.do(observer, who)
		s.Sleep(5 * time.Second)
		s.do(observer, who)
	})
	c.run(60 * time.Second)
	want(t, "said", c.said, "39.002s client-1 "+who+": *2 $7 redis-1 $4 6379",
		"44.004s client-1 "+who+": *2 $17 redis-1-replica-1 $4 6379")
}
