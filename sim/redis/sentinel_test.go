package redis_test

import (
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
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

// TestStaleReplicaIsNotPromoted checks that a replica is not promoted if its link to the master was down for longer
// than ten times DownAfter, which is 30 s here. The link is considered down only after a silence of repl-timeout (60
// s).
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
	want(t, "said", untimed(c.said), "client-1 SUBSCRIBE switch-master: *3 $9 subscribe $13 switch-master :1",
		"client-1 switch-master redis-1 redis-1-replica-1", "client-1 switch-master redis-1-replica-1 redis-1")
}

// steps contains the times of a failover's steps, measured from when the master stopped answering.
type steps struct{ promoted, announced time.Duration }

// replaced pauses the master at a given time. It returns when a replica was promoted and when the promotion was
// announced.
func replaced(t *testing.T, seed uint64, at time.Duration, replicas int) (s steps) {
	c := newSeeded(t, seed, redis.Config{}, replicas).watch(quick)
	c.group.Promoted = func(_, _ sim.ProcessID) { s.promoted = c.Now().Duration() - at }
	c.client("client-1", 0, func(env *session) {
		env.do(observer, "SUBSCRIBE switch-master")
		env.Receive(sim.Conn{Server: observer}, time.Hour)
		s.announced = c.Now().Duration() - at
	})
	c.at(at, func() { c.Pause(master) })
	c.run(at + 10*time.Second)
	return s
}

// shortest and look are the shortest and the longest time between two of a Sentinel's checks. inquiry is the longest
// time, while the master is down, between an INFO and the check that sends the next INFO. travel is the time that a
// request and its answer take on the network.
const (
	shortest = 52 * ms
	look     = 100 * ms
	inquiry  = time.Second + look
	travel   = 2 * ms
)

// TestTimesOfAFailover checks how long the steps of a failover take. The master is considered down once a ping has been
// unanswered for DownAfter. A ping is sent a second after the previous answer. In the next check, the Sentinel chooses
// a replica. In the check after that, it orders the replica to become master. It requests the replica's INFO once a
// second. When the INFO shows that the replica is a master, the Sentinel announces the new master in its next check.
// Failovers by real Sentinels take just as long, with the same variation.
func TestTimesOfAFailover(t *testing.T) {
	var promoted, announced []time.Duration
	for seed := range uint64(testkit.Size(250, 1000, 1000)) {
		s := replaced(t, seed, 5*time.Second+time.Duration(seed*7919%10_000)*ms, 1)
		promoted, announced = append(promoted, s.promoted), append(announced, s.announced-s.promoted)
	}
	slices.Sort(promoted)
	slices.Sort(announced)
	between := func(what string, list []time.Duration, least, most, spread time.Duration) {
		t.Helper()
		first, last := list[0], list[len(list)-1]
		t.Logf("%s: %v to %v, median %v", what, first, last, list[len(list)/2])
		if first < least || last > most || last-first < spread {
			t.Errorf("%s takes %v to %v, and should take %v to %v, with a difference of at least %v", what, first, last,
				least, most, spread)
		}
	}
	between("the promotion", promoted, quick.DownAfter-travel+2*shortest,
		quick.DownAfter+time.Second+travel+4*look, time.Second)
	between("the announcement", announced, 0, inquiry+travel+2*look, 500*ms)
}

// TestSwitchIsAnnouncedOnceTheOtherReplicasFollow checks when the Sentinel announces the new master if there is another
// replica. The Sentinel orders this replica to follow the new master, and asks it once a second whether it is doing so.
// It does not announce the new master until then.
func TestSwitchIsAnnouncedOnceTheOtherReplicasFollow(t *testing.T) {
	for seed := range uint64(50) {
		s := replaced(t, seed, 5*time.Second, 2)
		if d := s.announced - s.promoted; d < 500*ms || d > 2*inquiry+4*look {
			t.Errorf("seed %d: announced %v after the promotion", seed, d)
		}
	}
}

// TestFailoverThatFoundNoReplicaIsTriedAgainAfterTwiceItsTimeout checks that the second failover begins only after
// twice the failover timeout, even if a replica becomes available long before that.
func TestFailoverThatFoundNoReplicaIsTriedAgainAfterTwiceItsTimeout(t *testing.T) {
	for seed := range uint64(50) {
		c := newSeeded(t, seed, redis.Config{}, 1)
		c.watch(redis.SentinelConfig{DownAfter: time.Second, FailoverTimeout: 20 * time.Second})
		var at time.Duration
		c.group.Promoted = func(_, _ sim.ProcessID) { at = c.Now().Duration() }
		c.at(10*time.Second, func() { c.cut(observer, master, replica1) })
		c.at(15*time.Second, func() { c.heal(observer, replica1) })
		c.run(2 * time.Minute)
		// The master cannot be considered down before 11 s (first). The second failover begins 40 s after the first
		// one, plus up to a second.
		first := 11 * time.Second
		if at < first+40*time.Second || at > first+time.Second+2*look+40*time.Second+time.Second+4*look {
			t.Errorf("seed %d: the replica was promoted at %v", seed, at)
		}
	}
}

// TestSentinelKnowsAtOnceOfAProcessThatEnds checks that a Sentinel considers a master whose process has ended to be
// down after DownAfter. The connection breaks when the process ends, so the Sentinel does not have to wait for its next
// ping to remain unanswered.
func TestSentinelKnowsAtOnceOfAProcessThatEnds(t *testing.T) {
	for seed := range uint64(50) {
		c := newSeeded(t, seed, redis.Config{}, 1).watch(quick)
		var at time.Duration
		c.group.Promoted = func(_, _ sim.ProcessID) { at = c.Now().Duration() }
		c.at(5*time.Second, func() { c.Stop(master, sim.ShutDown) })
		c.run(20 * time.Second)
		if d := at - 5*time.Second; d < quick.DownAfter-time.Second || d > quick.DownAfter+4*look+travel {
			t.Errorf("seed %d: the replica was promoted %v after the end", seed, d)
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
