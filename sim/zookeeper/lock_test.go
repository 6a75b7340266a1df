package zookeeper_test

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	_ "github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

const holds = "holds"

// seeds is how many seeds each scenario is run with.
const seeds = 40

// expectAlways runs a scenario with many seeds and expects the same verdict each time. build prepares each run.
func expectAlways(t *testing.T, wanted map[checker.Law]string, build func(s *service)) {
	t.Helper()
	s := newService(t, 1)
	for seed := range uint64(seeds) {
		s.rerun(seed)
		build(s)
		expect(t, s.run(5*time.Minute), wanted)
		if t.Failed() {
			return
		}
	}
}

var sound = map[checker.Law]string{checker.LeaseExclusion: holds, checker.MutualExclusion: holds}

func TestTwoClientsTakeTurns(t *testing.T) {
	expectAlways(t, map[checker.Law]string{checker.LeaseExclusion: holds, checker.MutualExclusion: holds,
		checker.TokenOrder: holds, checker.Ownership: holds}, func(s *service) {
		for n := range 2 {
			s.locker(n+1, 0, func(k *worker) { k.cycles = 3 })
		}
	})
}

const outlivedSlow = "violated by holder outlived its lease (late packet)"

func TestCutOffHolderLosesItsLockToTheNextInLine(t *testing.T) {
	expectAlways(t, map[checker.Law]string{checker.LeaseExclusion: holds, checker.MutualExclusion: outlivedSlow},
		func(s *service) {
			s.locker(1, 0, func(k *worker) { k.hold = 20 * time.Second })
			s.locker(2, 500*ms, nil)
			s.isolate("client-1", members, time.Second, 15*time.Second)
		})
}

func TestListenerStopsOnSuspendedBeforeTheSessionExpires(t *testing.T) {
	expectAlways(t, sound, func(s *service) {
		s.locker(1, 0, func(k *worker) { k.hold, k.listens = 20*time.Second, true })
		s.locker(2, 500*ms, nil)
		s.isolate("client-1", members, time.Second, 15*time.Second)
	})
}

func TestReconnectBeforeExpiryKeepsTheLock(t *testing.T) {
	expectAlways(t, sound, func(s *service) {
		s.locker(1, 0, func(k *worker) { k.hold = 20 * time.Second })
		s.locker(2, 500*ms, nil)
		s.isolate("client-1", members[:1], time.Second, 30*time.Second)
	})
}

func TestPauseLongerThanTheTimeoutLosesTheLockUnnoticed(t *testing.T) {
	for _, listens := range []bool{false, true} {
		expectAlways(t, map[checker.Law]string{checker.LeaseExclusion: holds,
			checker.MutualExclusion: "violated by holder outlived its lease (pause)",
			checker.TokenOrder:      holds}, func(s *service) {
			s.locker(1, 0, func(k *worker) { k.hold, k.listens = 20*time.Second, listens })
			s.locker(2, 500*ms, nil)
			s.pause("client-1", time.Second, 15*time.Second)
		})
	}
}

func TestClientOfACrashedMemberMovesToAnother(t *testing.T) {
	expectAlways(t, sound, func(s *service) {
		s.locker(2, 0, func(k *worker) { k.hold = 20 * time.Second })
		s.locker(1, 500*ms, nil)
		s.losePower("zookeeper-2", time.Second, 30*time.Second)
	})
}

func TestSessionsSurviveACrashOfTheLeader(t *testing.T) {
	for _, first := range []int{1, 2} {
		expectAlways(t, sound, func(s *service) {
			s.locker(first, 0, func(k *worker) { k.hold = 20 * time.Second })
			s.locker(3, 500*ms, nil)
			s.losePower("zookeeper-1", time.Second, 10*time.Second)
		})
	}
}

// TestMinorityDownHindersNobody checks that clients still get the lock while one member is down. A client that tries
// this member first gives up on it after a third of the timeout. It then waits for up to a second before trying the
// next member. If the silent member is the leader, the other members notice after ten seconds.
func TestMinorityDownHindersNobody(t *testing.T) {
	away := map[string]func(s *service, id sim.ProcessID){
		"without power": func(s *service, id sim.ProcessID) { s.losePower(id, 0, 2*time.Minute) },
		"cut off":       func(s *service, id sim.ProcessID) { s.isolate(id, membersExcept(id), 0, 2*time.Minute) },
		"paused":        func(s *service, id sim.ProcessID) { s.pause(id, 0, 2*time.Minute) },
	}
	for _, id := range members {
		for _, strike := range away {
			expectAlways(t, map[checker.Law]string{checker.LeaseExclusion: holds, checker.MutualExclusion: holds,
				checker.FaultTolerance: holds},
				func(s *service) {
					s.header.Bound = history.Of(4 * time.Second)
					s.locker(1, 12*time.Second, nil)
					s.locker(2, 25*time.Second, nil)
					s.locker(3, 40*time.Second, func(k *worker) { k.cycles = 3 })
					strike(s, id)
				})
		}
	}
}

func TestJumpsOfWallClocksHaveNoEffect(t *testing.T) {
	run := func(jump bool) []history.Event {
		s := newService(t, 7)
		for n := range 2 {
			s.locker(n+1, 0, func(k *worker) { k.hold = 10 * time.Second })
		}
		if jump {
			for i, id := range append([]sim.ProcessID{"client-1", "client-2"}, members...) {
				s.At(history.Of(time.Duration(i+1)*time.Second),
					func() { s.Jump(id, time.Duration(1-i%2*2)*time.Hour) })
			}
		}
		return s.run(time.Minute).Events
	}
	calm, jumped := run(false), run(true)
	if len(calm) != len(jumped) {
		t.Fatalf("%d events, with jumps %d", len(calm), len(jumped))
	}
	for i := range calm {
		if calm[i].Time != jumped[i].Time || calm[i].F != jumped[i].F {
			t.Errorf("event %d: %+v, with jumps %+v", i, calm[i], jumped[i])
		}
	}
}

func TestFastLeaderExpiresSessionsEarly(t *testing.T) {
	expectAlways(t, map[checker.Law]string{checker.LeaseExclusion: "violated by expired early (server clock)",
		checker.MutualExclusion: "violated by expired early (server clock)"}, func(s *service) {
		s.locker(1, 0, func(k *worker) { k.hold = 20 * time.Second })
		s.locker(2, 500*ms, nil)
		s.strike("drift", "drift zookeeper-1 clock by +2000000ppm from 0s for 60s", 0, time.Minute, members[:1],
			func() { s.Drift("zookeeper-1", 2_000_000) }, func() { s.Drift("zookeeper-1", -2_000_000) })
		s.isolate("client-1", members, time.Second, 15*time.Second)
	})
}

// TestPatientMemberMisleadsItsClients cuts a member off from the others. For syncLimit ticks (ten seconds by default),
// the member keeps answering its client, while the others let the client's six-second session expire. If syncLimit is
// shorter than the session, no client is misled.
func TestPatientMemberMisleadsItsClients(t *testing.T) {
	const miscounted = "violated by validity miscounted"
	s := newService(t, 1)
	for syncLimit, want := range map[int]string{0: miscounted, 1: holds} {
		for seed := range uint64(seeds) {
			s.begin(seed, varied, zookeeper.Config{SyncLimit: syncLimit})
			s.locker(2, 0, func(k *worker) { k.hold, k.listens = 30*time.Second, true })
			s.locker(1, 500*ms, nil)
			s.isolate("zookeeper-2", []sim.ProcessID{"zookeeper-1", "zookeeper-3"}, time.Second, 40*time.Second)
			expect(t, s.run(5*time.Minute),
				map[checker.Law]string{checker.LeaseExclusion: want, checker.MutualExclusion: want})
		}
	}
}

func TestWatchingTheLowestWakesTheHerd(t *testing.T) {
	const clients = 6
	for _, c := range []struct {
		herd  bool
		wakes int
	}{{false, clients - 1}, {true, clients * (clients - 1) / 2}} {
		// With the herd effect, N-1 clients wake at the first release, N-2 at the second, and so on. Otherwise one
		// client wakes at each release.
		s := newService(t, 1)
		for seed := range uint64(seeds) {
			s.rerun(seed)
			wakes := 0
			for n := range clients {
				s.locker(n+1, time.Duration(n)*100*ms,
					func(k *worker) { k.herd, k.wakes, k.hold = c.herd, &wakes, time.Second })
			}
			expect(t, s.run(time.Minute), sound)
			if wakes != c.wakes {
				t.Errorf("herd %v, seed %d: woken %d times, want %d", c.herd, seed, wakes, c.wakes)
			}
		}
	}
}

func TestReadersShareAndWritersExclude(t *testing.T) {
	s := newService(t, 1)
	for seed := range uint64(seeds) {
		s.rerun(seed)
		for n, kind := range []string{"read", "read", "write", "read", "write"} {
			s.locker(n+1, time.Duration(n)*50*ms, func(k *worker) { k.kind, k.cycles, k.hold = kind, 2, 200*ms })
		}
		h := s.run(time.Minute)
		expect(t, h, map[checker.Law]string{checker.MutualExclusion: holds})
		if readers := mostHolders(h); readers < 2 {
			t.Errorf("seed %d: never more than %d reader at once", seed, readers)
		}
	}
}

// mostHolders returns the maximum number of clients that held the lock at the same time.
func mostHolders(h *history.History) int {
	inside, most := 0, 0
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.F == history.Acquire && e.Type == history.OK:
			inside++
			most = max(most, inside)
		case e.F == history.Release && e.Type == history.Invoke:
			inside--
		}
	}
	return most
}

// TestLostAnswersLeaveNoOrphans loses a different reply in each run: the request is executed, but the connection breaks
// before its reply arrives.
func TestLostAnswersLeaveNoOrphans(t *testing.T) {
	struck := 0
	for nth := 1; nth <= 14; nth++ {
		s := newService(t, 1)
		s.locker(1, 0, nil)
		s.locker(2, 50*ms, nil)
		s.BreakBefore("client-1", "zookeeper-1", nth, func() { struck++ })
		h := s.run(time.Minute)
		expect(t, h, sound)
		set, gone := 0, 0
		for i := range h.Events {
			switch h.Events[i].F {
			case history.KeySet:
				set++
			case history.KeyGone:
				gone++
			}
		}
		if set != 2 || gone != 2 {
			t.Errorf("answer %d lost: %d requests for the lock were made, %d ended", nth, set, gone)
		}
	}
	if struck < 7 {
		t.Errorf("only %d answers were lost", struck)
	}
}
