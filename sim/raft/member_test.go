package raft

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

func TestTheFirstMemberLeadsFromTheStart(t *testing.T) {
	for _, members := range []int{1, 3, 5} {
		l := newLab(t, members, Config{})
		l.run(2 * ms)
		for i := 1; i <= members; i++ {
			if got := l.Members()[i-1].Leader(); got != "m-1" {
				t.Errorf("%d members: member %d takes %q for the leader", members, i, got)
			}
		}
		l.run(time.Minute)
		if got := l.register(1).leads; len(got) != 1 {
			t.Errorf("%d members: leaders changed without need: %v", members, got)
		}
	}
}

func TestAColdClusterElectsALeader(t *testing.T) {
	l := newLab(t, 3, Config{ColdStart: true})
	l.ask(0, 2, 10*time.Second, "write", "a")
	l.run(5 * time.Second)
	if len(l.leaders()) != 1 {
		t.Errorf("leaders %v", l.leaders())
	}
	if len(l.log) != 1 || !strings.HasSuffix(l.log[0], "write a: :11") {
		t.Errorf("a write that came before the election: %v", l.log)
	}
}

func TestAnyMemberTakesRequests(t *testing.T) {
	l := newLab(t, 3, Config{})
	l.ask(10*ms, 1, time.Second, "write", "a")
	l.ask(20*ms, 3, time.Second, "write", "b")
	l.ask(30*ms, 1, time.Second, "read")
	l.ask(40*ms, 2, time.Second, "read")
	l.run(time.Second)
	l.want(l.log,
		"14ms write a: :11", // a round trip to the client, and one to a majority
		"26ms write b: :21", // one more round trip, from the member to the leader
		"34ms read: :21",
		"46ms read: :21")
	for i := 1; i <= 3; i++ {
		l.want(l.register(i).applied, "3/2 c-1 a", "4/2 c-2 b")
	}
}

func TestEveryCommandIsRecordedOnce(t *testing.T) {
	l := newLab(t, 3, Config{})
	l.ask(10*ms, 1, time.Second, "write", "a")
	l.schedule(100*ms, func() { l.Stop("m-1", sim.PowerLoss) })
	l.ask(3*time.Second, 2, time.Second, "write", "b")
	l.schedule(5*time.Second, func() { l.Restart("m-1") })
	l.run(10 * time.Second)
	var got []string
	for _, e := range l.Finish().Events {
		got = append(got, fmt.Sprintf("%s %s", e.Value, e.Of))
	}
	l.want(got, "a c-1", "b c-2")
	l.want(l.register(1).applied, l.register(2).applied...)
	if m := l.Members()[0]; m.Applied() != 5 || m.Life() != 2 || m.Number() != 1 || m.Name() != "m-1" {
		t.Errorf("applied %d in life %d", m.Applied(), m.Life())
	}
}

func TestACrashedLeaderIsReplacedWithinTwoElectionTimeoutsAndALittle(t *testing.T) {
	var sum time.Duration
	var late []string
	for seed := range uint64(50) {
		l := newLab(t, 3, Config{})
		l.rerun(seed, sim.Options{Delay: sim.Delay{Lo: ms, Hi: 5 * ms}}, Config{})
		l.schedule(500*ms, func() { l.Stop("m-1", sim.PowerLoss) })
		if l.Run(sim.Time(500*ms+2*time.Second+100*ms),
			func() bool { return l.Now() > sim.Time(500*ms) && len(l.leaders()) == 1 }) {
			late = append(late, fmt.Sprintf("seed %d: leaders %v: %v %v", seed, l.leaders(), l.register(2).leads,
				l.register(3).leads))
		}
		sum += l.Now().Duration() - 500*ms
	}
	if len(late) > 1 { // in one of 250 runs, both become candidates within a few ms, and neither wins
		t.Errorf("%d of 50 took longer: %v", len(late), late)
	}
	// The follower with the shorter wait campaigns first. If the other follower has not forgotten the leader by then,
	// that campaign fails. The election then lasts until the other follower campaigns, after 1.67 s on average.
	if mean := sum / 50; mean < 1200*ms || mean > 1500*ms {
		t.Errorf("an election took %v on average; the lesser of two draws from 1 s to 2 s is 1.33 s", mean)
	}
}

func TestAMemberRemembersItsTermAndVote(t *testing.T) {
	l := newLab(t, 3, Config{})
	l.schedule(time.Second, func() { l.Stop("m-1", sim.PowerLoss) })
	l.run(5 * time.Second)
	m, other := l.Members()[1], l.Members()[2]
	term := m.Term()
	vote := m.node.BasicStatus().GetVote()
	l.schedule(5*time.Second, func() { l.Stop("m-2", sim.PowerLoss); l.Stop("m-3", sim.PowerLoss); l.Restart("m-2") })
	l.run(5*time.Second + 10*ms)
	if status := m.node.BasicStatus(); m.Term() != term || term != 3 || status.GetTerm() != term ||
		status.GetVote() != vote || vote == 0 {
		t.Errorf("term %d, vote %d; after the restart %d, %d", term, vote, status.GetTerm(), status.GetVote())
	}
	if other.Up() {
		t.Error("a member that is down counts as up")
	}
}

func TestAReadWaitsUntilTheMemberHasCaughtUp(t *testing.T) {
	for seed := range uint64(50) {
		l := newLab(t, 3, Config{})
		l.rerun(seed, sim.Options{Delay: sim.Delay{Lo: ms, Hi: 5 * ms}}, Config{})
		l.schedule(5*ms, func() { l.Stop("m-3", sim.PowerLoss) })
		for i := range 5 {
			l.ask(time.Duration(10+10*i)*ms, 1, time.Second, "write", "x")
		}
		l.schedule(time.Second, func() { l.Restart("m-3") })
		l.ask(time.Second, 3, 5*time.Second, "read")
		l.run(5 * time.Second)
		if len(l.log) != 6 || !strings.HasSuffix(l.log[5], "read: :51") {
			t.Errorf("seed %d: %v", seed, l.log)
		}
	}
}

func TestALeaderWithoutAMajorityStepsDown(t *testing.T) {
	l := newLab(t, 3, Config{})
	l.schedule(500*ms, func() { l.cut("m-1", "m-2"); l.cut("m-1", "m-3") })
	l.ask(600*ms, 1, 3*time.Second, "write", "lost")
	l.ask(600*ms, 1, 3*time.Second, "read")
	l.ask(600*ms, 1, 3*time.Second, "stale")
	l.run(500*ms + 2*time.Second + ms)
	if l.Members()[0].Leading() {
		t.Error("the leader still leads two election time-outs after it was cut off")
	}
	l.run(10 * time.Second)
	l.want(l.log, "602ms stale: :01", "3.6s write lost: 0", "3.6s read: 0")
	if got := l.leaders(); len(got) != 1 || got[0] == 1 {
		t.Errorf("leaders %v", got)
	}
}

func (l *lab) cut(a, b sim.ProcessID)  { l.Cut(a, b); l.Cut(b, a) }
func (l *lab) heal(a, b sim.ProcessID) { l.Heal(a, b); l.Heal(b, a) }

func TestACutOffFollowerComesBackWithoutAnElection(t *testing.T) {
	l := newLab(t, 3, Config{})
	l.schedule(500*ms, func() { l.cut("m-3", "m-1"); l.cut("m-3", "m-2") })
	l.schedule(10*time.Second, func() { l.heal("m-3", "m-1"); l.heal("m-3", "m-2") })
	l.ask(5*time.Second, 1, time.Second, "write", "a")
	l.run(20 * time.Second)
	if got := l.leaders(); !slices.Equal(got, []int{1}) || l.Members()[0].Term() != 2 {
		t.Errorf("leaders %v in term %d: pre-vote should keep the cut-off member from disturbing", got,
			l.Members()[0].Term())
	}
	l.want(l.register(3).applied, "3/2 c-1 a")
}

func TestARequestWaitsForALeaderAndThenTimesOut(t *testing.T) {
	l := newLab(t, 3, Config{})
	l.schedule(0, func() { l.Stop("m-1", sim.PowerLoss); l.Stop("m-3", sim.PowerLoss) })
	l.ask(3*time.Second, 2, time.Minute, "write", "in time")
	l.ask(3*time.Second, 2, time.Minute, "read")
	l.schedule(5*time.Second, func() { l.Restart("m-3") })
	l.schedule(20*time.Second, func() { l.Stop("m-3", sim.PowerLoss) })
	l.ask(25*time.Second, 2, time.Minute, "write", "too late")
	l.ask(25*time.Second, 2, time.Minute, "read")
	l.run(time.Minute)
	if len(l.log) != 4 || strings.Contains(l.log[0]+l.log[1], "timed out") {
		t.Fatalf("%v", l.log)
	}
	l.want(l.log[2:], "32.002s write too late: -request timed out1", "32.002s read: -request timed out1")
}

func TestAResumedLeaderIsNotActiveUntilItHasLearnedOfTheNext(t *testing.T) {
	l := newLab(t, 3, Config{})
	l.schedule(500*ms, func() { l.Pause("m-1") })
	l.schedule(5*time.Second, func() { l.Resume("m-1") })
	for d := 5 * time.Second; d < 6*time.Second; d += ms {
		l.schedule(d, func() {
			if l.Members()[0].Active() && !l.Members()[0].Leading() {
				t.Errorf("%v: active without leading", l.Now())
			}
		})
	}
	l.ask(400*ms, 1, 10*time.Second, "active")
	// This request waits in the paused member's buffer, ahead of all messages from the next leader.
	l.ask(900*ms, 1, 10*time.Second, "active")
	l.run(10 * time.Second)
	l.want(l.log, "402ms active: +true1", "5.001s active: +false1")
	if l.Members()[0].Leading() {
		t.Error("the old leader still leads")
	}
}

func TestADeposedLeaderThatDoesNotKnowItProposesInVain(t *testing.T) {
	l := newLab(t, 3, Config{Fsync: 20 * ms})
	l.schedule(500*ms, func() { l.Pause("m-1") })
	l.schedule(5*time.Second, func() { l.Resume("m-1") })
	// This request waits in the paused leader's buffer, ahead of the next leader's first message. The following
	// requests arrive while m-1 is writing that message to disk.
	l.ask(600*ms, 1, 10*time.Second, "lead", "unread")
	l.ask(5005*ms, 1, 10*time.Second, "lead", "blocked")
	l.ask(5005*ms, 1, 10*time.Second, "write", "any")
	l.run(10 * time.Second)
	l.want(l.log[:2], "5.001s lead unread: +true1", "5.007s lead blocked: +true1")
	l.want(l.register(2).applied, "4/3 c-3 any")
}

func TestALeaderHangsUpOnASilentFollower(t *testing.T) {
	for _, hangsUp := range []bool{false, true} {
		l := newLab(t, 3, Config{Connections: hangsUp})
		leads := func() []string { return l.register(3).leads }
		l.schedule(550*ms, func() { l.Cut("m-3", "m-1") }) // the last message from m-3 arrived at 0.502 s
		l.schedule(1500*ms, func() { l.want(leads(), "m-1 false") })
		l.schedule(1602*ms, func() {
			if hangsUp {
				l.want(leads(), "m-1 false", " false")
			}
		})
		l.ask(5*time.Second, 1, time.Second, "write", "a")
		l.schedule(9*time.Second, func() { l.Heal("m-3", "m-1") })
		l.run(20 * time.Second)
		if hangsUp {
			l.want(leads(), "m-1 false", " false", "m-1 false")
		} else {
			l.want(leads(), "m-1 false")
		}
		l.want(l.register(3).applied, "3/2 c-1 a")
		if got := l.leaders(); !slices.Equal(got, []int{1}) || l.Members()[0].Term() != 2 {
			t.Errorf("leaders %v in term %d", got, l.Members()[0].Term())
		}
	}
}

func TestALeaderThatWasPausedReadsBeforeItHangsUp(t *testing.T) {
	l := newLab(t, 3, Config{Connections: true})
	l.schedule(550*ms, func() { l.Pause("m-1") })
	l.schedule(1450*ms, func() { l.Resume("m-1") }) // m-1 has read nothing since 0.402 s
	for _, member := range []sim.ProcessID{"m-2", "m-3"} {
		l.schedule(500*ms, func() { l.Pause(member) })
		l.schedule(1300*ms, func() { l.Resume(member) })
	}
	l.run(5 * time.Second)
	l.want(l.register(2).leads, "m-1 false")
	l.want(l.register(3).leads, "m-1 false")
}

func TestAMemberThatLostItsDiskStaysOut(t *testing.T) {
	l := newLab(t, 3, Config{})
	l.ask(10*ms, 1, time.Second, "write", "a")
	l.schedule(time.Second, func() { l.Stop("m-3", sim.LoseAllState) })
	l.schedule(2*time.Second, func() { l.Restart("m-3") })
	l.ask(3*time.Second, 3, time.Second, "read")
	l.ask(3*time.Second, 2, time.Second, "write", "b")
	l.schedule(4*time.Second, func() { l.Stop("m-2", sim.PowerLoss) })
	l.ask(5*time.Second, 1, 5*time.Second, "write", "no majority without the excluded")
	l.run(15 * time.Second)
	l.want(l.log, "14ms write a: :11",
		"3.002s read: -UNAVAILABLE this member has lost its disk and stays out of the cluster1",
		"3.006s write b: :21", "10s write no majority without the excluded: 0")
	if m := l.Members()[2]; m.Up() {
		t.Error("the excluded counts as up")
	}
}

func TestASlowDiskDelaysTheAcknowledgementOfThatMember(t *testing.T) {
	slow := func(on ...sim.ProcessID) []string {
		l := newLab(t, 3, Config{})
		l.schedule(5*ms, func() {
			for _, m := range on {
				l.ServerFault(m, sim.ServerFault{Kind: sim.SlowFsync, By: 50 * ms, Begin: true})
			}
		})
		l.ask(10*ms, 1, time.Second, "write", "a")
		l.run(time.Second)
		return l.log
	}
	l := &lab{t: t}
	l.want(slow("m-3"), "14ms write a: :11") // the other two members are a majority
	// The leader applies an entry only after its own write. It replicates the entry during the write.
	l.want(slow("m-1"), "62ms write a: :11")
	l.want(slow("m-2", "m-3"), "64ms write a: :11") // there was no majority before that
}

func TestWhatWasBeingWrittenIsLostInAPowerLoss(t *testing.T) {
	l := newLab(t, 3, Config{})
	slow := sim.ServerFault{Kind: sim.SlowFsync, By: time.Second, Begin: true}
	l.schedule(5*ms, func() { l.ServerFault("m-1", slow) })
	l.schedule(5*ms, func() { l.cut("m-1", "m-2"); l.cut("m-1", "m-3") })
	l.ask(10*ms, 1, time.Second, "write", "lost")
	l.schedule(20*ms, func() { l.Stop("m-1", sim.PowerLoss) })
	l.run(25 * ms)
	if last, _ := l.Members()[0].disk.LastIndex(); last != 2 {
		t.Errorf("the log on disk ends at %d", last)
	}
	l.schedule(30*ms, func() { l.Restart("m-1") })
	l.schedule(5*time.Second, func() { l.heal("m-1", "m-2"); l.heal("m-1", "m-3") })
	l.run(10 * time.Second)
	// The cut has held back the old leader's messages. The members now refuse them, because their term is old.
	for i := 1; i <= 3; i++ {
		l.want(l.register(i).applied)
	}
}

func TestMachinesSendToEachOther(t *testing.T) {
	l := newLab(t, 2, Config{})
	l.schedule(10*ms, func() {
		l.Members()[0].SendToPeer("m-2", "x", 1, "one")
		l.Members()[0].SendToPeer("m-2", "x", 2, "two")
		l.Members()[0].SendToPeer("m-1", "x", 3, "self")
		l.Members()[1].After(5*ms, 9)
		l.ServerFault("m-2", sim.ServerFault{Kind: "odd", Begin: true})
	})
	l.run(20 * ms)
	l.want(l.register(1).report, "m-1: self")
	l.want(l.register(2).report, "odd", "m-1: one", "m-1: two", "wake 9")
}

// TestEveryMemberAppliesTheProposedValue checks that all members, even one that has restarted, apply the proposed
// value.
func TestEveryMemberAppliesTheProposedValue(t *testing.T) {
	l := newLab(t, 3, Config{})
	l.ask(10*ms, 2, time.Second, "write", "a")
	l.schedule(time.Second, func() { l.Stop("m-3", sim.PowerLoss) })
	l.schedule(2*time.Second, func() { l.Restart("m-3") })
	l.run(5 * time.Second)
	want := l.register(2).proposed
	for i := 1; i <= 3; i++ {
		if got := l.register(i).values; len(want) != 1 || !slices.Equal(got, want) {
			t.Errorf("member %d applied %v, proposed was %v", i, got, want)
		}
	}
}
