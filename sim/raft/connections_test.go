package raft

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// connectedMembers configures members that use connections, accept a long silence from the leader, and then campaign
// quickly.
var connectedMembers = Config{Connections: true, Heartbeat: time.Second, ElectionTicks: 2, Silence: 10 * time.Second,
	Campaign: 200 * ms}

// ledFrom runs the world until a member other than the first one is the leader. It returns the time that has passed
// since at.
func (l *lab) ledFrom(at time.Duration) time.Duration {
	l.t.Helper()
	other := func() bool {
		got := l.leaders()
		return l.Now() > sim.Time(at) && len(got) > 0 && got[len(got)-1] != 1
	}
	l.Run(sim.Time(time.Hour), other)
	if !other() {
		l.t.Error("no other member leads after an hour")
	}
	return l.Now().Duration() - at
}

// TestEndedLeaderIsReplacedAtOnceAndASilentOneLater measures separately how long it takes to notice the loss of a
// leader and how long the election takes.
func TestEndedLeaderIsReplacedAtOnceAndASilentOneLater(t *testing.T) {
	const at = 3500 * ms
	for _, test := range []struct {
		name        string
		fault       func(*lab)
		least, most time.Duration
	}{
		{"its process ends", func(l *lab) { l.Stop("m-1", sim.PowerLoss) }, 200 * ms, 500 * ms},
		{"it shuts down", func(l *lab) { l.Stop("m-1", sim.ShutDown) }, 200 * ms, 500 * ms},
		{"it is cut off", func(l *lab) { l.cut("m-1", "m-2"); l.cut("m-1", "m-3") }, 9 * time.Second,
			10*time.Second + 500*ms},
		{"it is paused", func(l *lab) { l.Pause("m-1") }, 9 * time.Second, 10*time.Second + 500*ms},
		{"it is cut off and its process ends", func(l *lab) {
			l.cut("m-1", "m-2")
			l.cut("m-1", "m-3")
			l.Stop("m-1", sim.PowerLoss)
		}, 9 * time.Second, 10*time.Second + 500*ms},
	} {
		for seed := range uint64(20) {
			l := newLab(t, 3, connectedMembers)
			l.rerun(seed, sim.Options{Delay: sim.Delay{Lo: ms, Hi: 5 * ms}}, connectedMembers)
			l.schedule(at, func() { test.fault(l) })
			if got := l.ledFrom(at); got < test.least || got > test.most {
				t.Errorf("%s, seed %d: another leads after %v, want %v to %v", test.name, seed, got, test.least,
					test.most)
			}
		}
	}
}

// TestMembersThatStartElectAtOnce checks that members that have just started, and so do not know a leader, campaign
// without first waiting for a leader to be silent.
func TestMembersThatStartElectAtOnce(t *testing.T) {
	l := newLab(t, 3, connectedMembers)
	for _, name := range names(3) {
		l.schedule(time.Second, func() { l.Stop(name, sim.PowerLoss) })
		l.schedule(2*time.Second, func() { l.Restart(name) })
	}
	l.run(2*time.Second + 500*ms)
	if got := l.leaders(); len(got) != 1 {
		t.Errorf("leaders %v half a second after all members started", got)
	}
}

// TestLeaderWithoutConnectionsToAMajorityResigns examines only the leader: the other members are down and cannot elect
// a new leader.
func TestLeaderWithoutConnectionsToAMajorityResigns(t *testing.T) {
	for _, test := range []struct {
		name        string
		fault       func(*lab)
		least, most time.Duration
	}{
		{"one has ended", func(l *lab) { l.Stop("m-2", sim.PowerLoss) }, time.Hour, time.Hour},
		{"both have ended", func(l *lab) { l.Stop("m-2", sim.PowerLoss); l.Stop("m-3", sim.PowerLoss) }, 0,
			2*time.Second + 10*ms},
		{"both are paused", func(l *lab) { l.Pause("m-2"); l.Pause("m-3") }, 9 * time.Second, 13 * time.Second},
	} {
		l := newLab(t, 3, connectedMembers)
		l.schedule(3500*ms, func() { test.fault(l) })
		l.run(3500*ms + test.least)
		if test.least > 0 && !l.Members()[0].Leading() {
			t.Errorf("%s: the leader has resigned after %v", test.name, test.least)
		}
		l.run(3500*ms + test.most)
		if led := l.Members()[0].Leading(); led != (test.least == time.Hour) {
			t.Errorf("%s: leading is %v after %v", test.name, led, test.most)
		}
	}
}

// TestLeaderAloneIsAskedHowFarTheLogIs checks that CatchUp asks only the leader, whereas a read must be confirmed by a
// majority. A leader that has been replaced without knowing it still answers CatchUp, according to its own log.
func TestLeaderAloneIsAskedHowFarTheLogIs(t *testing.T) {
	l := newLab(t, 3, connectedMembers)
	l.ask(time.Second, 2, time.Second, "catch up")
	l.schedule(2*time.Second, func() { l.cut("m-1", "m-2"); l.cut("m-1", "m-3") })
	l.schedule(3*time.Second, func() { l.Members()[1].giveUp(); l.Members()[2].giveUp() })
	l.ask(4*time.Second, 2, time.Second, "write", "new")
	l.ask(5*time.Second, 1, time.Second, "catch up")
	l.ask(5*time.Second, 1, time.Second, "read")
	l.ask(5*time.Second, 3, time.Second, "catch up")
	l.run(7 * time.Second)
	l.want(l.log, "1.004s catch up: :01", "4.006s write new: :11", "5.002s catch up: :01", "5.002s catch up: :11",
		"6s read: 0")
}

// TestALeaderWithALeaseResignsWhenItIsOver checks that a leader that is cut off resigns when its lease ends, before the
// election timeout is over. A leader that is connected to a majority does not resign.
func TestALeaderWithALeaseResignsWhenItIsOver(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{0: time.Second, 300 * ms: 300 * ms} {
		l := newLab(t, 3, Config{Lease: lease})
		for _, other := range []sim.ProcessID{"m-2", "m-3"} {
			l.schedule(5*time.Second, func() { l.Cut("m-1", other); l.Cut(other, "m-1") })
		}
		l.run(5 * time.Second)
		if leaders := l.leaders(); len(leaders) != 1 || leaders[0] != 1 {
			t.Fatalf("lease %v: leaders before the cut: %v", lease, leaders)
		}
		end := 5 * time.Second
		for l.Members()[0].Leading() && end < 8*time.Second {
			end += 10 * ms
			l.run(end)
		}
		after := end - 5*time.Second
		if after < want || after > want+time.Second+100*ms || lease > 0 && after > 2*lease {
			t.Errorf("lease %v: it resigned %v after the cut", lease, after)
		}
	}
}
