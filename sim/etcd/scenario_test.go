package etcd

import (
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
)

const seeds = 100

// sound lists the laws that an etcd lock obeys, no matter which faults strike its servers.
var sound = []checker.Law{checker.LeaseExclusion, checker.MutualExclusion, checker.Ownership, checker.TokenOrder}

// everySeed runs a scenario with many seeds on the same members, and checks each run's history.
func everySeed(t *testing.T, clients int, prepare func(l *lab), check func(l *lab, v checker.Verdict)) {
	l := newLab(t, 3)
	work := l.work
	digests := map[sim.Digest]bool{}
	for seed := range uint64(seeds) {
		l.work = work
		l.begin(seed)
		prepare(l)
		v := l.judge(clients)
		check(l, v)
		digests[l.Digest()] = true
		if t.Failed() {
			return
		}
	}
	if len(digests) < seeds {
		t.Errorf("%d different runs of %d seeds", len(digests), seeds)
	}
}

func (l *lab) allDone(cycles int) {
	l.t.Helper()
	if l.done != cycles {
		l.t.Errorf("seed %d: %d of %d cycles done", l.Seed(), l.done, cycles)
	}
}

func TestLockExcludesWithoutFaults(t *testing.T) {
	everySeed(t, 3, func(l *lab) {}, func(l *lab, v checker.Verdict) {
		l.holds(v, sound...)
		l.allDone(6)
	})
}

func TestLockExcludesWhenTheLeaderCrashes(t *testing.T) {
	everySeed(t, 3, func(l *lab) {
		l.at(time.Duration(50+l.Seed()*7)*ms, func() { l.Stop("etcd-1", sim.PowerLoss) })
		l.at(8*time.Second, func() { l.Restart("etcd-1") })
	}, func(l *lab, v checker.Verdict) {
		l.holds(v, sound...)
		l.allDone(6)
	})
}

func TestLockExcludesWithAMinorityDownForEver(t *testing.T) {
	everySeed(t, 2, func(l *lab) {
		l.at(0, func() { l.Stop(l.names[l.Seed()%3], sim.LoseAllState) })
	}, func(l *lab, v checker.Verdict) {
		l.holds(v, sound...)
		l.allDone(4)
	})
}

func TestLockExcludesWhenTheLeaderIsCutOffFromTheOthers(t *testing.T) {
	everySeed(t, 3, func(l *lab) {
		from := time.Duration(50+l.Seed()*7) * ms
		l.cutBetween([]sim.ProcessID{"etcd-1"}, []sim.ProcessID{"etcd-2", "etcd-3"}, from, from+6*time.Second)
	}, func(l *lab, v checker.Verdict) {
		l.holds(v, sound...)
		l.allDone(6)
	})
}

func TestLockExcludesWhenTheLeaderIsPaused(t *testing.T) {
	everySeed(t, 3, func(l *lab) {
		from := time.Duration(50+l.Seed()*7) * ms
		l.at(from, func() { l.Pause("etcd-1") })
		l.at(from+4*time.Second, func() { l.Resume("etcd-1") })
	}, func(l *lab, v checker.Verdict) {
		l.holds(v, sound...)
		l.allDone(6)
	})
}

func TestLockExcludesWhenWallClocksJump(t *testing.T) {
	l := newLab(t, 3)
	run := func(jumps bool) (sim.Digest, checker.Verdict) {
		l.begin(5)
		if jumps {
			for i, n := range l.names {
				l.at(time.Duration(100*(i+1))*ms, func() { l.Jump(n, time.Duration(1-2*(i%2))*time.Hour) })
			}
		}
		v := l.judge(3)
		return l.Digest(), v
	}
	still, _ := run(false)
	jumped, v := run(true)
	l.holds(v, sound...)
	if still != jumped {
		t.Error("a jump of the servers' wall clocks changed the run")
	}
}

func TestHolderThatIsPausedPastItsLeaseOverlapsWithTheNext(t *testing.T) {
	everySeed(t, 2, func(l *lab) {
		l.work.hold, l.work.cycles = 2*time.Second, 1
		l.pauseHolder(15 * time.Second)
	}, func(l *lab, v checker.Verdict) {
		l.holds(v, checker.LeaseExclusion, checker.Ownership, checker.TokenOrder)
		l.violated(v, checker.MutualExclusion, "holder outlived its lease (pause)")
	})
}

func (l *lab) violated(v checker.Verdict, law checker.Law, cause string) {
	l.t.Helper()
	if f := v.Of(law); f.Outcome != checker.Violated || f.Cause.String() != cause {
		l.t.Errorf("seed %d: %s: %v, %q; want it violated by %q", l.Seed(), law, f.Outcome, f.Cause, cause)
	}
}

// cutKeepalives cuts client-1 off from the servers as soon as it has acquired the lock.
func (l *lab) cutKeepalives(d time.Duration) {
	l.whenAcquired(func() {
		line := "cut client-1 | etcd-1 etcd-2 etcd-3 after acquired for " + d.String()
		on := append([]history.Process{"client-1"}, l.names...)
		l.fault(history.Invoke, line, on...)
		for _, n := range l.names {
			l.Cut("client-1", n)
			l.Cut(n, "client-1")
		}
		l.at(l.Now().Duration()+d, func() {
			l.fault(history.OK, line, on...)
			for _, n := range l.names {
				l.Heal("client-1", n)
				l.Heal(n, "client-1")
			}
		})
	})
}

func TestHolderWithoutKeepalivesLosesItsLease(t *testing.T) {
	everySeed(t, 2, func(l *lab) {
		l.work.hold, l.work.cycles, l.work.obeys = 20*time.Second, 1, true
		l.cutKeepalives(30 * time.Second)
	}, func(l *lab, v checker.Verdict) {
		l.holds(v, sound...)
		if !slices.ContainsFunc(l.Finish().Events, func(e history.Event) bool { return e.F == history.Lost }) {
			t.Errorf("seed %d: the holder does not lose its lease", l.Seed())
		}
	})
}

func TestHolderWithoutKeepalivesThatWorksOnOverlapsWithTheNext(t *testing.T) {
	everySeed(t, 2, func(l *lab) {
		l.work.hold, l.work.cycles = 20*time.Second, 1
		l.cutKeepalives(30 * time.Second)
	}, func(l *lab, v checker.Verdict) {
		l.holds(v, checker.LeaseExclusion, checker.Ownership)
		l.violated(v, checker.MutualExclusion, "holder outlived its lease (late packet)")
	})
}

// waiterLosesItsLease pauses client-2 while it is waiting for the lock. The pause is longer than client-2's lease, and
// client-1 releases the lock in the meantime.
func waiterLosesItsLease(careless bool) func(l *lab) {
	return func(l *lab) {
		l.work.hold, l.work.cycles, l.work.careless = 10*time.Second, 1, careless
		l.at(time.Second, func() { l.Pause("client-2") })
		l.at(12*time.Second, func() { l.Resume("client-2") })
	}
}

func TestWaiterWhoseLeaseEndedDoesNotAcquire(t *testing.T) {
	everySeed(t, 3, waiterLosesItsLease(false), func(l *lab, v checker.Verdict) {
		l.holds(v, sound...)
	})
}

func TestWaiterThatDoesNotLookAtItsLeaseAcquiresWithoutOne(t *testing.T) {
	everySeed(t, 3, waiterLosesItsLease(true), func(l *lab, v checker.Verdict) {
		l.violated(v, checker.MutualExclusion, "lease not rechecked")
	})
}

// lateAnswer delays the reply to a keepalive. A client that measures its lease from when the reply arrives then trusts
// the lease for too long.
func lateAnswer(receipt bool) func(l *lab) {
	return func(l *lab) {
		l.work.hold, l.work.cycles, l.work.receipt, l.work.obeys = 20*time.Second, 1, receipt, true
		l.later = append(l.later, func() {
			l.at(time.Second, func() { l.Slow("etcd-1", "client-1", 900*ms) })
			l.at(3*time.Second, func() {
				l.Cut("client-1", "etcd-1")
				l.Cut("client-1", "etcd-2")
				l.Cut("client-1", "etcd-3")
			})
			l.at(60*time.Second,
				func() { l.Heal("client-1", "etcd-1"); l.Heal("client-1", "etcd-2"); l.Heal("client-1", "etcd-3") })
		})
	}
}

func TestALeaseCountedFromTheAnswerMayBeCountedTooLong(t *testing.T) {
	violations := 0
	everySeed(t, 2, lateAnswer(true), func(l *lab, v checker.Verdict) {
		if f := v.Of(checker.LeaseExclusion); f.Outcome == checker.Violated {
			l.violated(v, checker.LeaseExclusion, "validity miscounted")
			violations++
		}
	})
	if violations == 0 {
		t.Error("no seed shows it")
	}
	everySeed(t, 2, lateAnswer(false), func(l *lab, v checker.Verdict) { l.holds(v, sound...) })
}

// TestALeaderThatWasPausedDoesNotProlongWhatItsSuccessorEnds pauses a leader while a keepalive from client-1 is waiting
// in its buffer. Meanwhile, another leader is elected. When the old leader resumes, it must confirm its leadership
// before answering. Otherwise, the client would rely on a lease that the new leader ends earlier.
func TestALeaderThatWasPausedDoesNotProlongWhatItsSuccessorEnds(t *testing.T) {
	everySeed(t, 2, func(l *lab) {
		l.work.hold, l.work.cycles, l.work.obeys, l.work.ttl = 40*time.Second, 1, true, 20
		from := 5*time.Second + time.Duration(l.Seed()*11)*ms
		l.at(from, func() { l.Pause("etcd-1") })
		l.cutBetween([]sim.ProcessID{"etcd-1"}, []sim.ProcessID{"etcd-2", "etcd-3"}, from, 90*time.Second)
		l.later = append(l.later, func() {
			for _, n := range []sim.ProcessID{"etcd-2", "etcd-3"} {
				l.at(from, func() { l.Cut("client-1", n); l.Cut(n, "client-1") })
				l.at(90*time.Second, func() { l.Heal("client-1", n); l.Heal(n, "client-1") })
			}
			l.at(from+14*time.Second, func() { l.Resume("etcd-1") })
			l.at(from+14*time.Second+50*ms, func() { l.Cut("client-1", "etcd-1"); l.Cut("etcd-1", "client-1") })
			l.at(90*time.Second, func() { l.Heal("client-1", "etcd-1"); l.Heal("etcd-1", "client-1") })
		})
	}, func(l *lab, v checker.Verdict) { l.holds(v, sound...) })
}

func TestAnUncontendedLockIsHadWhileAMajorityIsUp(t *testing.T) {
	everySeed(t, 1, func(l *lab) {
		l.work.cycles, l.work.hold, l.work.think = 3, 200*ms, 8*time.Second
		down := sim.ProcessID(l.names[1+l.Seed()%2])
		l.at(0, func() {
			l.fault(history.Invoke, "crash "+string(down)+" losing unsynced writes", down)
			l.Stop(down, sim.PowerLoss)
		})
	}, func(l *lab, v checker.Verdict) {
		l.holds(v, append(sound, checker.FaultTolerance)...)
		l.allDone(3)
	})
}

func TestSameSeedSameRun(t *testing.T) {
	run := func(l *lab, seed uint64) sim.Digest {
		l.begin(seed)
		l.at(time.Duration(60+seed)*ms, func() { l.Stop("etcd-1", sim.PowerLoss) })
		l.at(3*time.Second, func() { l.Restart("etcd-1") })
		l.at(4*time.Second, func() { l.Pause("etcd-2") })
		l.at(6*time.Second, func() { l.Resume("etcd-2") })
		l.cutBetween([]sim.ProcessID{"etcd-3"}, []sim.ProcessID{"etcd-1", "etcd-2"}, 7*time.Second, 9*time.Second)
		l.work.cycles, l.work.hold = 4, time.Second
		l.judge(3)
		return l.Digest()
	}
	one := newLab(t, 3)
	for seed := range uint64(testkit.Size(6, 25, 100)) {
		first := run(one, seed)
		for range 2 {
			if again := run(one, seed); again != first {
				t.Fatalf("seed %d: %x and then %x on reused members", seed, first, again)
			}
		}
		if fresh := run(newLab(t, 3), seed); fresh != first {
			t.Fatalf("seed %d: %x, and %x on new members", seed, first, fresh)
		}
	}
}

func BenchmarkSchedule(b *testing.B) {
	l := newLab(b, 3)
	b.ReportAllocs()
	seed := uint64(0)
	for b.Loop() {
		seed++
		l.begin(seed)
		l.clients(2)
		l.Run(sim.Time(time.Minute), func() bool { return !l.Busy() })
		l.Finish()
		if l.done != 4 || l.Err() != nil {
			b.Fatal(l.done, l.Err())
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "schedules/s")
}
