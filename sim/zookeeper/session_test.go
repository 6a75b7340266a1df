package zookeeper_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// linger returns the code for a client that sleeps for d and then logs whether it still has its first session.
func linger(s *service, d time.Duration) func(sim.Env, *zookeeper.Client) {
	return func(env sim.Env, c *zookeeper.Client) {
		first := c.Session()
		env.Sleep(d)
		s.say("same session %v, lost %v", c.Session() == first, first.Lost().Raised())
	}
}

func TestSilenceSuspendsAfterTwoThirdsOfTheTimeout(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.client(1, nil, linger(s, 20*time.Second))
	s.isolate("client-1", members, 3*time.Second, 2*time.Second) // the last message arrives at 2.002 s
	s.isolate("client-1", members, 7*time.Second, 9*time.Second) // the last message arrives at 6.002 s
	s.run(time.Minute)
	want(t, s.report, "0.0 client-1 CONNECTED",
		// The ping sent at 4 s waits until the cut heals at 5 s. The ping sent at 6 s is the last one that is answered.
		"10.0 client-1 SUSPENDED", "16.0 client-1 LOST", "16.1 client-1 CONNECTED",
		"20.0 same session false, lost true")
}

func TestClientThatCountsTheTimeoutNeedNotBeNotified(t *testing.T) {
	for _, counts := range []bool{false, true} {
		s := newCalm(t, zookeeper.Config{})
		s.client(1, func(k *zookeeper.ClientConfig) { k.CountsTimeout = counts }, linger(s, 30*time.Second))
		s.isolate("client-1", members, time.Second, 24*time.Second)
		s.run(time.Minute)
		if counts {
			want(t, s.report, "0.0 client-1 CONNECTED", "4.0 client-1 SUSPENDED", "10.0 client-1 LOST",
				"25.0 client-1 CONNECTED", "30.0 same session false, lost true")
		} else {
			want(t, s.report, "0.0 client-1 CONNECTED", "4.0 client-1 SUSPENDED", "25.1 client-1 LOST",
				"25.2 client-1 CONNECTED", "30.0 same session false, lost true")
		}
	}
}

func TestPausedClientLearnsNothingUntilItGoesOn(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.client(1, func(k *zookeeper.ClientConfig) { k.CountsTimeout = true }, linger(s, 25*time.Second))
	s.pause("client-1", time.Second, 19*time.Second)
	s.run(time.Minute)
	want(t, s.report, "0.0 client-1 CONNECTED", "20.0 client-1 SUSPENDED", "20.1 client-1 LOST",
		"20.2 client-1 CONNECTED", "25.0 same session false, lost true")
}

func TestSessionMovesToAnotherMember(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.client(1, nil, linger(s, 30*time.Second))
	s.isolate("client-1", members[:1], time.Second, 30*time.Second)
	s.run(time.Minute)
	want(t, s.report, "0.0 client-1 CONNECTED", "4.0 client-1 SUSPENDED", "4.1 client-1 CONNECTED",
		"30.0 same session true, lost false")
}

// TestMemberWithoutItsLeaderClosesItsConnections checks when an isolated leader or follower disconnects its client. The
// isolated member and the others last hear from each other at 1 s. A follower gives up on its leader after syncLimit
// ticks. A leader loses its followers at the same time, but resigns only at the next tick. Its client then has a
// pending ping, and waits two seconds for the reply. If the isolated member is a follower and syncLimit has its
// default, a session of 6 s has expired by then.
func TestMemberWithoutItsLeaderClosesItsConnections(t *testing.T) {
	for _, test := range []struct {
		syncLimit, number int
		report            []string
	}{
		{1, 1, []string{"4.0 client-1 SUSPENDED", "6.1 client-1 CONNECTED", "30.0 same session true, lost false"}},
		{1, 2, []string{"3.0 client-2 SUSPENDED", "3.1 client-2 CONNECTED", "30.0 same session true, lost false"}},
		{5, 1, []string{"12.0 client-1 SUSPENDED", "14.1 client-1 CONNECTED", "30.0 same session true, lost false"}},
		{5, 2, []string{"11.0 client-2 SUSPENDED", "11.1 client-2 LOST", "11.2 client-2 CONNECTED",
			"30.0 same session false, lost true"}},
	} {
		s := newCalm(t, zookeeper.Config{SyncLimit: test.syncLimit})
		s.client(test.number, nil, linger(s, 30*time.Second))
		id := members[test.number-1]
		s.isolate(id, []sim.ProcessID{members[test.number%3], members[(test.number+1)%3]}, 1500*ms, 30*time.Second)
		s.run(time.Minute)
		want(t, s.report, append([]string{fmt.Sprintf("0.0 client-%d CONNECTED", test.number)}, test.report...)...)
	}
}

// TestMemberThatIsCutOffFromTheStartRefusesItsClients checks that a member that is cut off before it has received any
// message refuses its client within a second after syncLimit ticks, as it does when it loses its leader later in a run.
// The client keeps trying to connect.
func TestMemberThatIsCutOffFromTheStartRefusesItsClients(t *testing.T) {
	for syncLimit, refused := range map[int]string{1: "2.", 5: "10."} {
		s := newCalm(t, zookeeper.Config{SyncLimit: syncLimit})
		patient := func(c *zookeeper.ClientConfig) { c.Timeout = time.Minute }
		s.client(2, patient, linger(s, time.Second))
		for _, other := range []sim.ProcessID{"zookeeper-1", "zookeeper-3"} {
			s.Cut("zookeeper-2", other)
			s.Cut(other, "zookeeper-2")
		}
		s.run(time.Minute)
		if len(s.report) == 0 || !strings.HasPrefix(s.report[0], refused) {
			t.Errorf("syncLimit %d: %q, want a connection to another member at %ss", syncLimit, s.report, refused)
		}
	}
}

func TestMemberThatIsSilentToItsLeaderClosesItsConnections(t *testing.T) {
	s := newCalm(t, zookeeper.Config{SyncLimit: 1})
	s.client(2, nil, linger(s, 30*time.Second))
	s.At(history.Of(1500*ms), func() { s.Cut("zookeeper-2", "zookeeper-1") }) // the last message arrives at 1.002 s
	s.run(time.Minute)
	want(t, s.report, "0.0 client-2 CONNECTED", "4.0 client-2 SUSPENDED", "4.1 client-2 CONNECTED",
		"30.0 same session true, lost false")
}

// TestMemberNoticesTheEndOfAnotherAtOnce checks that members notice the end of the leader's process immediately,
// because their connections to it break.
func TestMemberNoticesTheEndOfAnotherAtOnce(t *testing.T) {
	// The client first tries the two other members. One is taking part in the election. The other is the stopped
	// leader: the connection is refused if it was shut down, and not answered if it lost power.
	for how, again := range map[sim.Stop]string{sim.ShutDown: "1.8", sim.PowerLoss: "3.8"} {
		s := newCalm(t, zookeeper.Config{})
		s.client(2, nil, linger(s, 30*time.Second))
		s.At(history.Of(1500*ms), func() { s.Stop("zookeeper-1", how) })
		s.run(time.Minute)
		want(t, s.report, "0.0 client-2 CONNECTED", "1.5 client-2 SUSPENDED", again+" client-2 CONNECTED",
			"30.0 same session true, lost false")
	}
}

// TestLeaderThatWasReplacedAnswersSync checks that a leader that is unaware of its replacement answers a sync, and then
// a read with stale data. The sessions are long because a sync waits for pending proposals, and the leader would
// propose to end short sessions.
func TestLeaderThatWasReplacedAnswersSync(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	long := func(k *zookeeper.ClientConfig) { k.Timeout = 30 * time.Second }
	s.client(1, long, func(env sim.Env, c *zookeeper.Client) {
		_, _, _ = c.Create(env, "", "/a", "old", zookeeper.Persistent)
		env.Sleep(11800 * ms)
		err := c.Sync(env, "")
		data, _, _ := c.GetData(env, "", "/a", nil)
		s.say("%v %s", err, data)
	})
	s.client(2, long, func(env sim.Env, c *zookeeper.Client) {
		env.Sleep(11700 * ms)
		_, err := c.SetData(env, "", "/a", "new", zookeeper.AnyVersion)
		s.say("written %v", err)
	})
	s.isolate("zookeeper-1", members[1:], 1500*ms, 30*time.Second)
	s.run(time.Minute)
	want(t, s.report, "0.0 client-1 CONNECTED", "0.0 client-2 CONNECTED", "11.0 client-2 SUSPENDED",
		"11.1 client-2 CONNECTED", "11.7 written <nil>", "11.8 <nil> old")
}

func TestFormerLeaderExpiresNobody(t *testing.T) {
	s := newCalm(t, zookeeper.Config{SyncLimit: 1, Log: raft.Config{Fsync: 20 * ms}})
	s.client(2, func(k *zookeeper.ClientConfig) { k.Members, k.First = members[1:], 0 }, linger(s, 30*time.Second))
	// The former leader does three things in order: it starts a write, learns that another member leads, and checks for
	// expired sessions while its disk has not finished the write.
	s.pause("zookeeper-1", time.Second, 14*time.Second)
	s.AddClient("client-1", history.Of(1100*ms),
		func(env sim.Env) { zookeeper.OpenClient(env, config(1)).Await(env, 5*time.Second) })
	s.run(time.Minute)
	want(t, s.report, "0.0 client-2 CONNECTED", "2.0 client-2 SUSPENDED", "2.3 client-2 CONNECTED",
		"30.0 same session true, lost false")
}

func TestMemberWithoutItsDiskServesNobody(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.client(2, nil, linger(s, 30*time.Second))
	s.At(history.Of(time.Second), func() { s.Stop("zookeeper-2", sim.LoseAllState); s.Restart("zookeeper-2") })
	s.run(time.Minute)
	want(t, s.report, "0.0 client-2 CONNECTED", "2.0 client-2 SUSPENDED", "2.1 client-2 CONNECTED",
		"30.0 same session true, lost false")
}

func TestSessionsAndNodesOutliveALossOfPowerOfAllMembers(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.client(1, nil, func(env sim.Env, c *zookeeper.Client) {
		path, _, err := c.Create(env, "", "/a", "", zookeeper.Ephemeral)
		session := c.Session()
		env.Sleep(20 * time.Second)
		stat, found := c.Exists(env, "", path, nil)
		s.say("%v %v %v %v", err, found, c.Session() == session, stat.EphemeralOwner == session.ID)
	})
	for _, id := range members {
		s.losePower(id, time.Second, 4*time.Second)
	}
	s.run(time.Minute)
	// The SYN sent at 4.0 s is lost. It is sent again just after the members have restarted. They then elect a leader.
	want(t, s.report, "0.0 client-1 CONNECTED", "4.0 client-1 SUSPENDED", "5.3 client-1 CONNECTED",
		"20.0 <nil> <nil> true true")
}

func TestLateRequestOfAnEarlierConnectionIsRefused(t *testing.T) {
	s := newCalm(t, zookeeper.Config{})
	s.client(1, func(k *zookeeper.ClientConfig) { k.CallTimeout = time.Second }, func(env sim.Env,
		c *zookeeper.Client) {
		s.DelayNext("client-1", "zookeeper-1", 10*time.Second, func() {})
		_, _, err := c.Create(env, "", "/late", "", zookeeper.Persistent)
		s.say("%v", err)
		env.Sleep(20 * time.Second)
		_, err = c.Exists(env, "", "/late", nil)
		s.say("%v", err)
	})
	s.run(time.Minute)
	want(t, s.report, "0.0 client-1 CONNECTED", "1.0 zookeeper: OPERATIONTIMEOUT", "4.0 client-1 SUSPENDED",
		"4.1 client-1 CONNECTED", "21.0 zookeeper: NONODE")
}

func TestSingleMemberExpiresSessions(t *testing.T) {
	names := members[:1]
	w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: ms, Hi: ms}})
	zookeeper.NewEnsemble(zookeeper.Config{}, names).AddTo(w.AddServer)
	var states []zookeeper.ClientState
	for _, id := range []sim.ProcessID{"client-1", "client-2"} {
		w.AddClient(id, 0, func(env sim.Env) {
			zookeeper.OpenClient(env, zookeeper.ClientConfig{Members: names, Timeout: timeout,
				Listener: func(_ sim.Env, s zookeeper.ClientState) {
					states = append(states, s)
				}})
			env.Sleep(40 * time.Second)
		})
		w.At(history.Of(5*time.Second), func() { w.Cut(id, names[0]) })
		w.At(history.Of(25*time.Second), func() { w.Heal(id, names[0]) })
	}
	w.Run(history.Of(time.Minute), func() bool { return !w.Busy() })
	if w.Finish(); w.Err() != nil {
		t.Fatal(w.Err())
	}
	up, gap, lost := zookeeper.Connected, zookeeper.Suspended, zookeeper.Lost
	want(t, states, up, up, gap, gap, lost, lost, up, up)
}

func TestTimeoutsAreNegotiated(t *testing.T) {
	for asked, given := range map[time.Duration]time.Duration{time.Second: 4 * time.Second,
		6 * time.Second: 6 * time.Second, time.Hour: 40 * time.Second} {
		s, got := newCalm(t, zookeeper.Config{}), time.Duration(0)
		s.client(1, func(k *zookeeper.ClientConfig) { k.Timeout = asked }, func(_ sim.Env, c *zookeeper.Client) {
			got = c.Session().Timeout
		})
		if s.run(time.Minute); got != given {
			t.Errorf("asked for %v, got %v, want %v", asked, got, given)
		}
	}
}
